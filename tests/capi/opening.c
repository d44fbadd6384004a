/* Versions, errors, options, plan, metadata, trace. */
#include <stddef.h>
#include <stdint.h>

#include "check.h"

static void test_version(void) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", SYNPS_VERSION_MAJOR, SYNPS_VERSION_MINOR,
           SYNPS_VERSION_PATCH);
  CHECK(strcmp(text, SYNPS_VERSION) == 0);
  CHECK(strcmp(synps_version(), SYNPS_VERSION) == 0);
  CHECK(synps_abi_version() == SYNPS_ABI_VERSION);
}

static void test_metadata(const synps_artifact* artifact) {
  const char* key = NULL;
  const char* value = NULL;
  synps_error* error = NULL;
  CHECK(synps_metadata_count(artifact) == 2);
  CHECK_WORKS(synps_get_metadata(artifact, 0, &key, &value, &error));
  CHECK(key != NULL && strcmp(key, "author") == 0);
  CHECK(value != NULL && strcmp(value, "someone") == 0);
  value = synps_find_metadata(artifact, "format");
  CHECK(value != NULL && strcmp(value, "pt") == 0);
  CHECK(synps_find_metadata(artifact, "none") == NULL);
  CHECK_FAILS(synps_get_metadata(artifact, 2, &key, &value, &error), SYNPS_ERROR_USAGE,
              "no such metadata");
}

static synps_plan plan_of(const synps_artifact* artifact) {
  synps_plan plan;
  synps_error* error = NULL;
  memset(&plan, 0xFF, sizeof plan);
  plan.struct_size = sizeof plan;
  CHECK_WORKS(synps_get_plan(artifact, &plan, &error));
  return plan;
}

static void test_plan(const synps_artifact* artifact) {
  const synps_plan plan = plan_of(artifact);
  uint64_t file = 0;
  uint64_t resident = 0;
  uint64_t mapped = 0;
  size_t i;
  for (i = 0; i < synps_weight_count(artifact); ++i) {
    const synps_weight weight = weight_at(artifact, i);
    file += weight.file_bytes;
    resident += weight.resident_bytes;
    mapped += weight.mapped_bytes;
  }
  CHECK(plan.file_bytes == file && file > 0);
  CHECK(plan.resident_bytes == resident && resident > 0);
  CHECK(plan.mapped_bytes == mapped && mapped > 0);
  CHECK(plan.fits == 1 && plan.has_budget == 0);
}

static void test_residencies(void) {
  synps_options options;
  synps_override all;
  synps_artifact* artifact;
  synps_plan plan;
  memset(&options, 0, sizeof options);
  memset(&all, 0, sizeof all);
  options.struct_size = sizeof options;
  options.overrides = &all;
  options.override_count = 1;
  all.residency = SYNPS_RESIDENCY_HEAP;
  artifact = open_model(&options);
  plan = plan_of(artifact);
  CHECK(plan.mapped_bytes == 0);
  CHECK(weight_at(artifact, number_of(artifact, "ids")).residency == SYNPS_RESIDENCY_HEAP);
  synps_close(artifact);

  /* By path: what lies below it, too, and nothing else. */
  all.path = "layer.0";
  artifact = open_model(&options);
  CHECK(weight_at(artifact, number_of(artifact, "layer.0.norm")).residency == SYNPS_RESIDENCY_HEAP);
  CHECK(weight_at(artifact, number_of(artifact, "ids")).residency == SYNPS_RESIDENCY_MAPPED);
  synps_close(artifact);

  all.residency = SYNPS_RESIDENCY_AUTO;
  all.path = "layer.0.down.weight";
  all.dequantize = 1;
  artifact = open_model(&options);
  {
    const synps_weight weight = weight_at(artifact, number_of(artifact, all.path));
    CHECK(weight.encoding == SYNPS_DEQUANTIZE_TO);
    CHECK(weight.converted == 1);
    CHECK(weight.conversion_bytes >= 40 * 96 * sizeof(float));
    CHECK(weight.component_count == 1);
  }
  synps_close(artifact);
}

static void test_profiles(void) {
  static const char* const names[] = {"desktop", "native", "edge"};
  synps_options options;
  synps_profile profile;
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;
  size_t i;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
    options.profile_name = names[i];
    options.allow_over_budget = 1;
    artifact = open_model(&options);
    CHECK(plan_of(artifact).has_budget == 1);
    synps_close(artifact);
  }
  /* Strict: nothing compressed may be inflated, on a machine of whatever size. */
  options.profile_name = "mobile_2gb";
  CHECK_FAILS(synps_open(path_of("model.synps"), &options, &artifact, &error), SYNPS_ERROR_LIMIT,
              "the strict profile mobile_2gb refuses");
  /* The one of this machine may be that one. */
  options.profile_name = "auto";
  if (synps_open(path_of("model.synps"), &options, &artifact, &error) == SYNPS_OK)
    CHECK(plan_of(artifact).has_budget == 1);
  else
    CHECK_FAILS(synps_error_code(error), SYNPS_ERROR_LIMIT, "strict profile");
  synps_close(artifact);
  options.allow_over_budget = 0;

  memset(&profile, 0, sizeof profile);
  profile.struct_size = sizeof profile;
  profile.name = "tiny";
  profile.has_memory_bytes = 1;
  profile.memory_bytes = 100000000;
  profile.reserve_bytes = 40000000;
  profile.residency = SYNPS_RESIDENCY_MAPPED;
  options.profile_name = NULL;
  options.profile = &profile;
  artifact = open_model(&options);
  CHECK(plan_of(artifact).budget_bytes == 60000000);
  CHECK(weight_at(artifact, number_of(artifact, "ids")).residency == SYNPS_RESIDENCY_MAPPED);
  synps_close(artifact);

  options.has_budget = 1;
  options.budget_bytes = 10;
  CHECK_FAILS(synps_open(path_of("model.synps"), &options, &artifact, &error), SYNPS_ERROR_LIMIT,
              "model.synps");
  CHECK(artifact == NULL);
  options.allow_over_budget = 1;
  artifact = open_model(&options);
  CHECK(plan_of(artifact).fits == 0 && plan_of(artifact).budget_bytes == 10);
  synps_close(artifact);
}

struct heard {
  int inflated;
  int others;
};

static void hear(void* context, const synps_conversion* event) {
  struct heard* heard = context;
  const int inflated =
      strcmp(event->kind, "inflate") == 0 && strcmp(event->weight, "layer.1.zstd.weight") == 0;
  if (inflated)
    ++heard->inflated;
  else
    ++heard->others;
  CHECK(event->struct_size == sizeof *event);
  CHECK(event->from[0] != '\0' && event->to[0] != '\0');
  CHECK(event->bytes_before > 0 && event->bytes_after == 16 * 64 * 2);
  CHECK(event->end_ns >= event->begin_ns);
}

static void test_trace(void) {
  struct heard heard = {0, 0};
  synps_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.trace = hear;
  options.trace_context = &heard;
  synps_close(open_model(&options));
  CHECK(heard.inflated == 1 && heard.others == 0);
}

/* A program that was built with another header. */
static void test_sizes_of_structures(void) {
  struct {
    synps_options options;
    char more[16];
  } newer;
  struct {
    synps_weight weight;
    unsigned char more[16];
  } out;
  synps_options options;
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;

  /* Older: fields that its header lacks are not looked at. */
  memset(&options, 0xFF, sizeof options);
  options.struct_size = offsetof(synps_options, profile_name);
  options.verification = SYNPS_VERIFY_NEVER;
  options.allow_over_budget = 0;
  artifact = open_model(&options);

  /* Newer: fields that the library lacks may not be set. */
  memset(&newer, 0, sizeof newer);
  newer.options.struct_size = sizeof newer;
  synps_close(open_model(&newer.options));
  newer.more[3] = 1;
  {
    synps_artifact* none = NULL;
    CHECK_FAILS(synps_open(path_of("model.synps"), &newer.options, &none, &error),
                SYNPS_ERROR_USAGE, "does not know");
  }

  /* What the library fills: an older caller's bytes and no more, a newer one's rest as zeros. */
  memset(&out, 0xAA, sizeof out);
  out.weight.struct_size = offsetof(synps_weight, shape);
  CHECK_WORKS(synps_get_weight(artifact, 0, &out.weight, &error));
  CHECK(out.weight.struct_size == offsetof(synps_weight, shape));
  CHECK(strcmp(out.weight.path, "ids") == 0);
  CHECK(((unsigned char*)&out.weight)[offsetof(synps_weight, shape)] == 0xAA);
  out.weight.struct_size = sizeof out;
  CHECK_WORKS(synps_get_weight(artifact, 0, &out.weight, &error));
  CHECK(out.weight.rank == 1 && out.more[0] == 0 && out.more[15] == 0);
  out.weight.struct_size = 0;
  CHECK_FAILS(synps_get_weight(artifact, 0, &out.weight, &error), SYNPS_ERROR_USAGE, "struct_size");
  synps_close(artifact);
}

void test_opening(void) {
  synps_artifact* artifact;
  test_version();
  artifact = open_model(NULL);
  test_metadata(artifact);
  test_plan(artifact);
  synps_close(artifact);
  synps_close(NULL);
  test_residencies();
  test_profiles();
  test_trace();
  test_sizes_of_structures();
}
