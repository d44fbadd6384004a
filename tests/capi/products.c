/* Products, on the calling thread, on a pool, and on threads of the program. */
#include <pthread.h>
#include <stdint.h>

#include "check.h"

enum { kRows = 40, kColumns = 96, kVectors = 3 };

static float x[kVectors * kColumns];

struct range {
  void (*task)(void* context, uint64_t unit);
  void* context;
  uint64_t units;
  uint64_t first;
};

static void* run_range(void* argument) {
  const struct range* range = argument;
  uint64_t unit;
  for (unit = range->first; unit < range->units; unit += 2) range->task(range->context, unit);
  return NULL;
}

/* Two threads that are started for each product: the odd units on one, the even on the other. */
static void run_on_two(void* context, uint64_t units, void (*task)(void*, uint64_t),
                       void* task_context) {
  struct range even = {task, task_context, units, 0};
  struct range odd = {task, task_context, units, 1};
  pthread_t thread;
  ++*(int*)context;
  CHECK(pthread_create(&thread, NULL, run_range, &odd) == 0);
  run_range(&even);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void run_none(void* context, uint64_t units, void (*task)(void*, uint64_t),
                     void* task_context) {
  (void)context, (void)units, (void)task, (void)task_context;
}

/* Units that nobody asked for are not run. */
static void run_too_many(void* context, uint64_t units, void (*task)(void*, uint64_t),
                         void* task_context) {
  uint64_t unit;
  (void)context;
  for (unit = 0; unit < units + 5; ++unit) task(task_context, unit);
}

/* As many calls as there are units, but all for the first. */
static void run_first_alone(void* context, uint64_t units, void (*task)(void*, uint64_t),
                            void* task_context) {
  uint64_t unit;
  *(uint64_t*)context = units;
  for (unit = 0; unit < units; ++unit) task(task_context, 0);
}

static void test_same_bits(const synps_artifact* artifact, size_t weight,
                           const synps_executor* executor) {
  float alone[kVectors * kRows];
  float shared[kVectors * kRows];
  synps_error* error = NULL;
  size_t v;
  for (v = 0; v < kVectors; ++v)
    CHECK_WORKS(synps_matvec(artifact, weight, x + v * kColumns, kColumns, alone + v * kRows, kRows,
                             NULL, &error));
  for (v = 0; v < kVectors; ++v)
    CHECK_WORKS(synps_matvec(artifact, weight, x + v * kColumns, kColumns, shared + v * kRows,
                             kRows, executor, &error));
  CHECK(memcmp(alone, shared, sizeof alone) == 0);
  memset(shared, 0xFF, sizeof shared);
  CHECK_WORKS(synps_matmul(artifact, weight, kVectors, x, kVectors * kColumns, shared,
                           kVectors * kRows, executor, &error));
  CHECK(memcmp(alone, shared, sizeof alone) == 0);

  CHECK_WORKS(synps_matvec_q8(artifact, weight, x, kColumns, alone, kRows, NULL, &error));
  CHECK_WORKS(synps_matvec_q8(artifact, weight, x, kColumns, shared, kRows, executor, &error));
  CHECK(memcmp(alone, shared, kRows * sizeof alone[0]) == 0);
}

/* In f64, and with the values that synps_decode gives. */
static void test_values(const synps_artifact* artifact, size_t weight) {
  float w[kRows * kColumns];
  float y[kRows];
  float y8[kRows];
  int r;
  int c;
  synps_error* error = NULL;
  CHECK_WORKS(synps_decode(artifact, weight, 0, kRows, w, kRows * kColumns, &error));
  CHECK_WORKS(synps_matvec(artifact, weight, x, kColumns, y, kRows, NULL, &error));
  CHECK_WORKS(synps_matvec_q8(artifact, weight, x, kColumns, y8, kRows, NULL, &error));
  for (r = 0; r < kRows; ++r) {
    double sum = 0;
    for (c = 0; c < kColumns; ++c) sum += (double)w[r * kColumns + c] * (double)x[c];
    CHECK(y[r] - sum < 1e-4 && sum - y[r] < 1e-4);
    CHECK(y8[r] - sum < 1.0 && sum - y8[r] < 1.0);
  }
}

static void test_sizes(const synps_artifact* artifact, size_t weight) {
  float y[2 * kRows];
  synps_error* error = NULL;
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns - 1, y, kRows, NULL, &error),
              SYNPS_ERROR_USAGE, "x has the wrong size");
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, y, kRows + 1, NULL, &error),
              SYNPS_ERROR_USAGE, "y has the wrong size");
  CHECK_FAILS(synps_matmul(artifact, weight, 2, x, kColumns, y, 2 * kRows, NULL, &error),
              SYNPS_ERROR_USAGE, "x has the wrong size");
  CHECK_FAILS(synps_matmul(artifact, weight, UINT64_MAX, x, kColumns, y, kRows, NULL, &error),
              SYNPS_ERROR_USAGE, "wrong size");
  CHECK_FAILS(synps_matvec_q8(artifact, weight, x, kColumns, y, kRows + 1, NULL, &error),
              SYNPS_ERROR_USAGE, "y has the wrong size");
  CHECK_FAILS(synps_matvec(artifact, weight, NULL, kColumns, y, kRows, NULL, &error),
              SYNPS_ERROR_USAGE, "null (x)");
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, NULL, kRows, NULL, &error),
              SYNPS_ERROR_USAGE, "null (y)");
  CHECK_FAILS(synps_matvec(artifact, number_of(artifact, "layer.0.norm"), x, 6, y, 1, NULL, &error),
              SYNPS_ERROR_USAGE, "only matrices");
  CHECK_FAILS(synps_matvec_q8(artifact, number_of(artifact, "layer.1.zstd.weight"), x, 64, y, 16,
                              NULL, &error),
              SYNPS_ERROR_USAGE, "no kernel");
}

static void test_executors(const synps_artifact* artifact, size_t weight) {
  float y[kRows];
  int calls = 0;
  synps_executor executor = {NULL, 2, 0, run_on_two};
  synps_error* error = NULL;
  executor.context = &calls;
  test_same_bits(artifact, weight, &executor);
  CHECK(calls > 0);

  executor.run = run_none;
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, y, kRows, &executor, &error),
              SYNPS_ERROR_USAGE, "did not run every unit");
  executor.run = run_too_many;
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, y, kRows, &executor, &error),
              SYNPS_ERROR_USAGE, "did not run every unit");
  executor.run = NULL;
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, y, kRows, &executor, &error),
              SYNPS_ERROR_USAGE, "executor.run");
  executor.run = run_on_two;
  executor.workers = 0;
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, y, kRows, &executor, &error),
              SYNPS_ERROR_USAGE, "executor.workers");
  executor.workers = 2;
  executor.reserved = 1;
  CHECK_FAILS(synps_matvec(artifact, weight, x, kColumns, y, kRows, &executor, &error),
              SYNPS_ERROR_USAGE, "executor.reserved");
}

static void test_pools(const synps_artifact* artifact, size_t weight) {
  static const uint32_t counts[] = {0, 1, 2, 3};
  synps_pool* pool = NULL;
  synps_error* error = NULL;
  size_t i;
  for (i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    CHECK_WORKS(synps_pool_create(counts[i], &pool, &error));
    CHECK(synps_pool_executor(pool)->workers >= 1);
    test_same_bits(artifact, weight, synps_pool_executor(pool));
    synps_pool_free(pool);
  }
  CHECK_FAILS(synps_pool_create(1000000, &pool, &error), SYNPS_ERROR_USAGE, "workers");
  CHECK_FAILS(synps_pool_create(1, NULL, &error), SYNPS_ERROR_USAGE, "null (pool)");
  CHECK(synps_pool_executor(NULL) == NULL);
  synps_pool_free(NULL);
}

static void test_units_left_out(void) {
  static float large_x[1024];
  static float large_y[256];
  uint64_t units = 0;
  synps_executor executor = {NULL, 2, 0, run_first_alone};
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;
  executor.context = &units;
  CHECK_WORKS(synps_open(path_of("large.synps"), NULL, &artifact, &error));
  CHECK_FAILS(synps_matvec(artifact, 0, large_x, 1024, large_y, 256, &executor, &error),
              SYNPS_ERROR_USAGE, "did not run every unit");
  CHECK(units > 1);
  synps_close(artifact);
}

void test_products(void) {
  synps_artifact* artifact = open_model(NULL);
  const size_t weight = number_of(artifact, "layer.0.down.weight");
  int i;
  for (i = 0; i < kVectors * kColumns; ++i) x[i] = (float)(i * 29 % 101) / 50.0f - 1.0f;
  CHECK(weight_at(artifact, weight).activation_block == 32);
  test_values(artifact, weight);
  test_sizes(artifact, weight);
  test_executors(artifact, weight);
  test_pools(artifact, weight);
  test_units_left_out();
  synps_close(artifact);
}
