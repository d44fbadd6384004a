/* Weights, components, decoding; from one thread and from several. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

static synps_component component_at(const synps_artifact* artifact, size_t weight, size_t number) {
  synps_component out;
  synps_error* error = NULL;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  CHECK_WORKS(synps_get_component(artifact, weight, number, &out, &error));
  return out;
}

static void test_iteration(const synps_artifact* artifact) {
  const size_t count = synps_weight_count(artifact);
  size_t i;
  CHECK(count == 7);
  for (i = 0; i < count; ++i) {
    const synps_weight weight = weight_at(artifact, i);
    CHECK(weight.path_size == strlen(weight.path));
    CHECK(number_of(artifact, weight.path) == i);
    CHECK(i == 0 || strcmp(weight_at(artifact, i - 1).path, weight.path) < 0);
    CHECK(weight.reason[0] != '\0');
  }
}

static void test_packed(const synps_artifact* artifact) {
  const size_t number = number_of(artifact, "layer.0.down.weight");
  const synps_weight weight = weight_at(artifact, number);
  const synps_component blocks = component_at(artifact, number, 0);
  size_t found = 9;
  synps_error* error = NULL;
  CHECK(weight.rank == 2 && weight.shape[0] == 40 && weight.shape[1] == 96);
  CHECK(weight.rows == 40 && weight.columns == 96);
  CHECK(strcmp(weight.dtype, "F32") == 0 && strcmp(weight.codec, "q8_0:q8_0") == 0);
  CHECK(weight.decodable == 1 && weight.lossless == 0 && weight.converted == 0);
  CHECK(weight.order == SYNPS_ORDER_ROWS1 && strcmp(weight.order_name, "rows1") == 0);
  CHECK(weight.orientation == SYNPS_OUT_IN && strcmp(weight.orientation_name, "out_in") == 0);
  CHECK(weight.residency == SYNPS_RESIDENCY_MAPPED);
  CHECK(strcmp(weight.residency_name, "mapped") == 0);
  CHECK(weight.encoding_name[0] != '\0');
  CHECK(weight.component_count == 1);
  CHECK(strcmp(blocks.name, "blocks") == 0 && strcmp(blocks.dtype, "U8") == 0);
  CHECK(blocks.rank == 2 && blocks.shape[0] == 40 && blocks.shape[1] == 3 * 34);
  CHECK(blocks.bytes == 40 * 3 * 34 && blocks.data != NULL);
  CHECK_WORKS(synps_find_component(artifact, number, "blocks", &found, &error));
  CHECK(found == 0);
  CHECK(weight_at(artifact, number_of(artifact, "layer.0.up.weight")).residency ==
        SYNPS_RESIDENCY_HEAP);
}

static void test_several_components(const synps_artifact* artifact) {
  const size_t number = number_of(artifact, "layer.1.ternary.weight");
  size_t scales = 0;
  synps_error* error = NULL;
  CHECK(weight_at(artifact, number).component_count == 2);
  CHECK_WORKS(synps_find_component(artifact, number, "scales", &scales, &error));
  CHECK(scales == 1);
  CHECK(strcmp(component_at(artifact, number, scales).dtype, "F32") == 0);
  CHECK(component_at(artifact, number, scales).bytes == 16 * sizeof(float));
  CHECK_FAILS(synps_find_component(artifact, number, "scale", &scales, &error), SYNPS_ERROR_USAGE,
              "codes or scales");
}

static void test_kept(const synps_artifact* artifact) {
  const size_t number = number_of(artifact, "ids");
  const synps_weight weight = weight_at(artifact, number);
  const synps_component values = component_at(artifact, number, 0);
  int64_t ids[3];
  float out[3];
  synps_error* error = NULL;
  CHECK(strcmp(weight.codec, "keep") == 0 && strcmp(weight.dtype, "I64") == 0);
  CHECK(weight.decodable == 0 && weight.lossless == 1 && weight.activation_block == 0);
  CHECK(values.bytes == sizeof ids);
  memcpy(ids, values.data, sizeof ids);
  CHECK(ids[0] == 7 && ids[1] == 8 && ids[2] == 9);
  CHECK_FAILS(synps_decode(artifact, number, 0, 1, out, 3, &error), SYNPS_ERROR_USAGE,
              "nothing decodes");
}

static void test_decode(const synps_artifact* artifact) {
  const size_t norm = number_of(artifact, "layer.0.norm");
  const size_t down = number_of(artifact, "layer.0.down.weight");
  float values[6];
  float all[40 * 96];
  float some[2 * 96];
  int i;
  synps_error* error = NULL;
  CHECK_WORKS(synps_decode(artifact, norm, 0, 1, values, 6, &error));
  for (i = 0; i < 6; ++i) CHECK(values[i] == (float)i / 2);
  CHECK_WORKS(synps_decode(artifact, down, 0, 40, all, 40 * 96, &error));
  CHECK_WORKS(synps_decode(artifact, down, 7, 2, some, 2 * 96, &error));
  CHECK(memcmp(some, all + 7 * 96, sizeof some) == 0);
  /* (i × 37 mod 255) / 64 − 2, within half a step of the largest scale, 2 / 127. */
  for (i = 0; i < 40 * 96; ++i) {
    const float difference = all[i] - ((float)(i * 37 % 255) / 64.0f - 2.0f);
    CHECK(difference < 0.01f && difference > -0.01f);
  }
  CHECK_WORKS(synps_decode(artifact, down, 40, 0, NULL, 0, &error));
  CHECK_FAILS(synps_decode(artifact, down, 39, 2, some, 2 * 96, &error), SYNPS_ERROR_USAGE,
              "rows out of range");
  CHECK_FAILS(synps_decode(artifact, down, UINT64_MAX, 2, some, 2 * 96, &error), SYNPS_ERROR_USAGE,
              "rows out of range");
  CHECK_FAILS(synps_decode(artifact, down, 0, 1, some, 95, &error), SYNPS_ERROR_USAGE,
              "wrong size");
}

static void test_end_invocation(const synps_artifact* artifact) {
  const size_t number = number_of(artifact, "layer.1.volatile.weight");
  float before[64];
  float after[64];
  synps_error* error = NULL;
  CHECK_WORKS(synps_decode(artifact, number, 3, 1, before, 64, &error));
  CHECK_WORKS(synps_end_invocation(artifact, &error));
  CHECK_WORKS(synps_decode(artifact, number, 3, 1, after, 64, &error));
  CHECK(memcmp(before, after, sizeof before) == 0);
}

static void* use_all(void* context) {
  const synps_artifact* artifact = context;
  size_t i;
  for (i = 0; i < synps_weight_count(artifact); ++i) {
    const synps_weight weight = weight_at(artifact, i);
    const uint64_t size = weight.rows * weight.columns;
    float* values = malloc(size * sizeof *values);
    synps_error* error = NULL;
    CHECK(component_at(artifact, i, 0).bytes > 0);
    if (weight.decodable)
      CHECK_WORKS(synps_decode(artifact, i, 0, weight.rows, values, size, &error));
    free(values);
  }
  return NULL;
}

/* First uses, which compare checksums, meet each other. */
static void test_threads(void) {
  synps_artifact* artifact = open_model(NULL);
  pthread_t threads[4];
  size_t i;
  for (i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, use_all, artifact) == 0);
  for (i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  synps_close(artifact);
}

void test_weights(void) {
  synps_artifact* artifact = open_model(NULL);
  test_iteration(artifact);
  test_packed(artifact);
  test_several_components(artifact);
  test_kept(artifact);
  test_decode(artifact);
  test_end_invocation(artifact);
  synps_close(artifact);
  test_threads();
}
