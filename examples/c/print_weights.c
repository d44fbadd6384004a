/* Prints the weights of an artifact: their forms, and their first values. Needs synps.h and the
 * library, and nothing else of synps.
 *
 *   print_weights ARTIFACT [PROFILE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synps.h"

/* Says what went wrong, frees the error, and gives the exit code. */
static int failed(int code, synps_error* error) {
  fprintf(stderr, "print_weights: error: %s\n", synps_error_message(error));
  synps_error_free(error);
  return code;
}

/* Paths come from a file: bytes that a terminal might obey are not passed on. */
static void print_text(const char* text) {
  for (; *text != '\0'; ++text) putchar((unsigned char)*text < 0x20 || *text == 0x7F ? '?' : *text);
}

static void print_shape(const synps_weight* weight) {
  size_t i;
  printf(" [");
  for (i = 0; i < weight->rank; ++i)
    printf("%s%llu", i == 0 ? "" : ", ", (unsigned long long)weight->shape[i]);
  printf("]");
}

/* Decodes the first row. */
static int print_values(const synps_artifact* artifact, size_t number, const synps_weight* weight) {
  synps_error* error = NULL;
  float* row;
  size_t i;
  int code;
  if (!weight->decodable || weight->rows == 0 || weight->columns == 0) {
    printf(" (no values to decode)\n");
    return SYNPS_OK;
  }
  row = malloc(weight->columns * sizeof *row);
  if (row == NULL) {
    fprintf(stderr, "print_weights: error: out of memory\n");
    return SYNPS_ERROR_LIMIT;
  }
  code = synps_decode(artifact, number, 0, 1, row, weight->columns, &error);
  if (code == SYNPS_OK) {
    for (i = 0; i < weight->columns && i < 4; ++i) printf(" %.6g", (double)row[i]);
    printf("%s\n", weight->columns > 4 ? " ..." : "");
  }
  free(row);
  return code == SYNPS_OK ? code : failed(code, error);
}

static int print_weight(const synps_artifact* artifact, size_t number) {
  synps_weight weight;
  synps_error* error = NULL;
  int code;
  memset(&weight, 0, sizeof weight);
  weight.struct_size = sizeof weight;
  code = synps_get_weight(artifact, number, &weight, &error);
  if (code != SYNPS_OK) return failed(code, error);
  print_text(weight.path);
  print_shape(&weight);
  printf(" %s %s %s:", weight.codec, weight.order_name, weight.residency_name);
  return print_values(artifact, number, &weight);
}

static int print_plan(const synps_artifact* artifact) {
  synps_plan plan;
  synps_error* error = NULL;
  int code;
  memset(&plan, 0, sizeof plan);
  plan.struct_size = sizeof plan;
  code = synps_get_plan(artifact, &plan, &error);
  if (code != SYNPS_OK) return failed(code, error);
  printf("%llu bytes stored, %llu on the heap, %llu mapped\n", (unsigned long long)plan.file_bytes,
         (unsigned long long)plan.resident_bytes, (unsigned long long)plan.mapped_bytes);
  return SYNPS_OK;
}

int main(int argc, char** argv) {
  synps_options options;
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;
  size_t i;
  int code;
  if (argc != 2 && argc != 3) {
    fprintf(stderr, "usage: print_weights ARTIFACT [PROFILE]\n");
    return 2;
  }
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.profile_name = argc == 3 ? argv[2] : NULL;
  code = synps_open(argv[1], &options, &artifact, &error);
  if (code != SYNPS_OK) return failed(code, error);
  for (i = 0; i < synps_weight_count(artifact) && code == SYNPS_OK; ++i)
    code = print_weight(artifact, i);
  if (code == SYNPS_OK) code = print_plan(artifact);
  synps_close(artifact);
  return code;
}
