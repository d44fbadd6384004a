/* Every function of synps.h, as a program in C99 uses it.  capi_test FOLDER */
#include <stdlib.h>

#include "check.h"

int failures = 0;
const char* folder = NULL;

void check_failure(int code, int want, synps_error** error, const char* words, const char* file,
                   int line) {
  const char* message = synps_error_message(*error);
  if (code != want || synps_error_code(*error) != want || strstr(message, words) == NULL) {
    ++failures;
    fprintf(stderr, "%s:%d: code %d, want %d; message \"%s\", want \"%s\"\n", file, line, code,
            want, message, words);
  }
  synps_error_free(*error);
  *error = NULL;
}

void check_success(int code, synps_error** error, const char* file, int line) {
  if (code != SYNPS_OK || *error != NULL) {
    ++failures;
    fprintf(stderr, "%s:%d: code %d: %s\n", file, line, code, synps_error_message(*error));
  }
  synps_error_free(*error);
  *error = NULL;
}

const char* path_of(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

synps_artifact* open_model(const synps_options* options) {
  synps_artifact* artifact = NULL;
  synps_error* error = NULL;
  CHECK_WORKS(synps_open(path_of("model.synps"), options, &artifact, &error));
  if (artifact == NULL) exit(1);
  return artifact;
}

size_t number_of(const synps_artifact* artifact, const char* path) {
  size_t weight = 0;
  synps_error* error = NULL;
  CHECK_WORKS(synps_find_weight(artifact, path, &weight, &error));
  return weight;
}

synps_weight weight_at(const synps_artifact* artifact, size_t weight) {
  synps_weight out;
  synps_error* error = NULL;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  CHECK_WORKS(synps_get_weight(artifact, weight, &out, &error));
  return out;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  folder = argv[1];
  test_opening();
  test_weights();
  test_products();
  test_mistakes();
  if (failures != 0) fprintf(stderr, "%d checks failed\n", failures);
  return failures != 0;
}
