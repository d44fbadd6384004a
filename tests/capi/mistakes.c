/* Calls that make no sense, and files that are not sound. */
#include <stdint.h>

#include "check.h"

static void test_null(void) {
  synps_artifact* artifact = NULL;
  synps_weight weight;
  synps_component component;
  synps_plan plan;
  size_t number = 0;
  float value = 0;
  const char* text = NULL;
  synps_error* error = NULL;
  CHECK(synps_weight_count(NULL) == 0);
  CHECK(synps_metadata_count(NULL) == 0);
  CHECK(synps_find_metadata(NULL, "format") == NULL);
  CHECK_FAILS(synps_open(NULL, NULL, &artifact, &error), SYNPS_ERROR_USAGE, "null (path)");
  CHECK_FAILS(synps_open("x", NULL, NULL, &error), SYNPS_ERROR_USAGE, "null (artifact)");
  CHECK_FAILS(synps_get_plan(NULL, &plan, &error), SYNPS_ERROR_USAGE, "null (artifact)");
  CHECK_FAILS(synps_get_metadata(NULL, 0, &text, &text, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_end_invocation(NULL, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_find_weight(NULL, "x", &number, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_get_weight(NULL, 0, &weight, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_get_component(NULL, 0, 0, &component, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_find_component(NULL, 0, "x", &number, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_decode(NULL, 0, 0, 1, &value, 1, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_matvec(NULL, 0, &value, 1, &value, 1, NULL, &error), SYNPS_ERROR_USAGE, "null");
  CHECK_FAILS(synps_matmul(NULL, 0, 1, &value, 1, &value, 1, NULL, &error), SYNPS_ERROR_USAGE,
              "null");
  CHECK_FAILS(synps_matvec_q8(NULL, 0, &value, 1, &value, 1, NULL, &error), SYNPS_ERROR_USAGE,
              "null");

  artifact = open_model(NULL);
  CHECK(synps_find_metadata(artifact, NULL) == NULL);
  CHECK_FAILS(synps_get_plan(artifact, NULL, &error), SYNPS_ERROR_USAGE, "null (plan)");
  CHECK_FAILS(synps_get_metadata(artifact, 0, NULL, &text, &error), SYNPS_ERROR_USAGE, "(key)");
  CHECK_FAILS(synps_get_metadata(artifact, 0, &text, NULL, &error), SYNPS_ERROR_USAGE, "(value)");
  CHECK_FAILS(synps_find_weight(artifact, NULL, &number, &error), SYNPS_ERROR_USAGE, "(path)");
  CHECK_FAILS(synps_find_weight(artifact, "ids", NULL, &error), SYNPS_ERROR_USAGE, "(weight)");
  CHECK_FAILS(synps_get_weight(artifact, 0, NULL, &error), SYNPS_ERROR_USAGE, "(out)");
  CHECK_FAILS(synps_get_component(artifact, 0, 0, NULL, &error), SYNPS_ERROR_USAGE, "(out)");
  CHECK_FAILS(synps_find_component(artifact, 0, NULL, &number, &error), SYNPS_ERROR_USAGE,
              "(name)");
  CHECK_FAILS(synps_find_component(artifact, 0, "values", NULL, &error), SYNPS_ERROR_USAGE,
              "(component)");
  CHECK_FAILS(synps_decode(artifact, 0, 0, 1, NULL, 3, &error), SYNPS_ERROR_USAGE, "(out)");
  /* Whoever does not want to know more gets the code alone. */
  CHECK(synps_find_weight(artifact, "none", &number, NULL) == SYNPS_ERROR_USAGE);
  synps_close(artifact);
}

static void test_wrong_names_and_numbers(void) {
  synps_artifact* artifact = open_model(NULL);
  const size_t count = synps_weight_count(artifact);
  synps_weight weight;
  synps_component component;
  size_t number = 0;
  synps_error* error = NULL;
  memset(&weight, 0, sizeof weight);
  memset(&component, 0, sizeof component);
  weight.struct_size = sizeof weight;
  component.struct_size = sizeof component;
  CHECK_FAILS(synps_find_weight(artifact, "layer.0.dwon.weight", &number, &error),
              SYNPS_ERROR_USAGE, "did you mean 'layer.0.down.weight'?");
  CHECK_FAILS(synps_get_weight(artifact, count, &weight, &error), SYNPS_ERROR_USAGE,
              "no such weight");
  CHECK_FAILS(synps_get_weight(artifact, SIZE_MAX, &weight, &error), SYNPS_ERROR_USAGE,
              "no such weight");
  CHECK_FAILS(synps_get_component(artifact, 0, 1, &component, &error), SYNPS_ERROR_USAGE,
              "no such component");
  component.struct_size = 1;
  CHECK_FAILS(synps_get_component(artifact, 0, 0, &component, &error), SYNPS_ERROR_USAGE,
              "struct_size");
  synps_close(artifact);
}

/* An option that is wrong in one way. */
static void refused(const synps_options* options, int code, const char* words) {
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;
  CHECK_FAILS(synps_open(path_of("model.synps"), options, &artifact, &error), code, words);
  CHECK(artifact == NULL);
}

static void test_options(void) {
  synps_options clean;
  synps_options options;
  synps_profile profile;
  synps_override override;
  synps_package package = {"q8_row", "./no_such_package.so"};
  memset(&clean, 0, sizeof clean);
  memset(&profile, 0, sizeof profile);
  memset(&override, 0, sizeof override);
  clean.struct_size = sizeof clean;
  profile.struct_size = sizeof profile;

  options = clean;
  options.struct_size = 0;
  refused(&options, SYNPS_ERROR_USAGE, "struct_size");
  options.struct_size = (size_t)1 << 40;
  refused(&options, SYNPS_ERROR_USAGE, "struct_size");
  options = clean;
  options.verification = 3;
  refused(&options, SYNPS_ERROR_USAGE, "verification");
  options = clean;
  options.reserved = 1;
  refused(&options, SYNPS_ERROR_USAGE, "reserved");
  options = clean;
  options.profile_name = "dekstop";
  refused(&options, SYNPS_ERROR_USAGE, "did you mean 'desktop'?");
  options.profile_name = "desktop";
  options.profile = &profile;
  refused(&options, SYNPS_ERROR_USAGE, "given twice");
  options.profile_name = NULL;
  profile.residency = 7;
  refused(&options, SYNPS_ERROR_USAGE, "profile.residency");
  profile.residency = 0;
  profile.reserved = 1;
  refused(&options, SYNPS_ERROR_USAGE, "profile.reserved");

  options = clean;
  options.override_count = 1;
  refused(&options, SYNPS_ERROR_USAGE, "null (overrides)");
  options.overrides = &override;
  override.order = 9;
  refused(&options, SYNPS_ERROR_USAGE, "overrides.order");
  override.order = SYNPS_REQUEST_ORDER_AUTO;
  override.residency = 9;
  refused(&options, SYNPS_ERROR_USAGE, "overrides.residency");
  override.residency = SYNPS_RESIDENCY_HEAP;
  override.path = "layer.0.nrom";
  refused(&options, SYNPS_ERROR_USAGE, "did you mean 'layer.0.norm'?");
  override.path = "layer.0.n"; /* no path and above none: segments are whole */
  refused(&options, SYNPS_ERROR_USAGE, "covers no weight");
  override.path = "layer.0";
  override.reserved = 2;
  refused(&options, SYNPS_ERROR_USAGE, "overrides.reserved");

  options = clean;
  options.package_count = 1;
  refused(&options, SYNPS_ERROR_USAGE, "null (packages)");
  options.packages = &package;
  refused(&options, SYNPS_ERROR_PACKAGE, "no_such_package.so");
  package.path = NULL;
  refused(&options, SYNPS_ERROR_USAGE, "packages.path");
}

static void test_files(void) {
  synps_artifact* artifact = NULL;
  synps_component component;
  synps_options options;
  synps_error* error = NULL;
  float row[96];
  size_t number;
  CHECK_FAILS(synps_open(path_of("none.synps"), NULL, &artifact, &error), SYNPS_ERROR_IO,
              "No such file");
  CHECK_FAILS(synps_open(path_of("text.synps"), NULL, &artifact, &error), SYNPS_ERROR_ARTIFACT,
              "text.synps");
  CHECK_FAILS(synps_open(path_of("cut.synps"), NULL, &artifact, &error), SYNPS_ERROR_ARTIFACT,
              "does not fit the file");
  CHECK(artifact == NULL);

  /* Damage is found when the bytes are first used, or at once, or never. */
  memset(&component, 0, sizeof component);
  component.struct_size = sizeof component;
  CHECK_WORKS(synps_open(path_of("damaged.synps"), NULL, &artifact, &error));
  number = number_of(artifact, "layer.0.down.weight");
  CHECK_FAILS(synps_get_component(artifact, number, 0, &component, &error), SYNPS_ERROR_ARTIFACT,
              "layer.0.down.weight");
  CHECK_FAILS(synps_decode(artifact, number, 0, 1, row, 96, &error), SYNPS_ERROR_ARTIFACT,
              "damaged.synps");
  synps_close(artifact);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.verification = SYNPS_VERIFY_ALL;
  CHECK_FAILS(synps_open(path_of("damaged.synps"), &options, &artifact, &error),
              SYNPS_ERROR_ARTIFACT, "layer.0.down.weight");
  options.verification = SYNPS_VERIFY_NEVER;
  CHECK_WORKS(synps_open(path_of("damaged.synps"), &options, &artifact, &error));
  CHECK_WORKS(synps_decode(artifact, number, 0, 1, row, 96, &error));
  synps_close(artifact);
}

static void test_errors(void) {
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;
  synps_problem problem;
  CHECK(synps_error_code(NULL) == SYNPS_OK);
  CHECK(strcmp(synps_error_message(NULL), "") == 0);
  CHECK(synps_error_problem_count(NULL) == 0);
  synps_error_free(NULL);
  memset(&problem, 0, sizeof problem);
  problem.struct_size = sizeof problem;
  CHECK(synps_error_problem(NULL, 0, &problem) == SYNPS_ERROR_USAGE);

  CHECK(synps_open(path_of("none.synps"), NULL, &artifact, &error) == SYNPS_ERROR_IO);
  CHECK(synps_error_problem_count(error) == 1);
  CHECK(synps_error_problem(error, 0, &problem) == SYNPS_OK);
  CHECK(strcmp(problem.file, path_of("none.synps")) == 0);
  CHECK(problem.what[0] != '\0' && problem.field[0] == '\0' && problem.has_offset == 0);
  CHECK(synps_error_problem(error, 1, &problem) == SYNPS_ERROR_USAGE);
  CHECK(synps_error_problem(error, 0, NULL) == SYNPS_ERROR_USAGE);
  synps_error_free(error);

  CHECK(strcmp(synps_code_name(SYNPS_OK), "ok") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_USAGE), "usage") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_CHECKPOINT), "checkpoint") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_IO), "io") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_ARTIFACT), "artifact") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_LIMIT), "limit") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_POLICY), "policy") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_OUTPUT), "output") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_PACKAGE), "package") == 0);
  CHECK(strcmp(synps_code_name(SYNPS_ERROR_INTERNAL), "internal") == 0);
  CHECK(strcmp(synps_code_name(-1), "unknown") == 0);
}

void test_mistakes(void) {
  test_null();
  test_wrong_names_and_numbers();
  test_options();
  test_files();
  test_errors();
}
