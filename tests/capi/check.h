/* What the parts of the test program share. */
#ifndef SYNPS_TEST_CHECK_H
#define SYNPS_TEST_CHECK_H

#include <stdio.h>
#include <string.h>

#include "synps.h"

extern int failures;
extern const char* folder;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      ++failures;                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                 \
  } while (0)

/* The call fails with this code, and its message has these words. */
#define CHECK_FAILS(call, want, words) \
  check_failure((call), (want), &error, (words), __FILE__, __LINE__)
/* The call works, else says why not. */
#define CHECK_WORKS(call) check_success((call), &error, __FILE__, __LINE__)

void check_failure(int code, int want, synps_error** error, const char* words, const char* file,
                   int line);
void check_success(int code, synps_error** error, const char* file, int line);

/* The path of a file of the folder; good until the next call. */
const char* path_of(const char* name);
/* model.synps, opened with these options. */
synps_artifact* open_model(const synps_options* options);
size_t number_of(const synps_artifact* artifact, const char* path);
synps_weight weight_at(const synps_artifact* artifact, size_t weight);

void test_opening(void);
void test_weights(void);
void test_products(void);
void test_mistakes(void);

#endif
