// conformance_test NAME FILE: loads the codec package NAME from the shared object FILE and tests
// that its codecs do what every codec has to do. Exits 0 when they do.
#include <cstdio>
#include <string>

#include <synps/codec_package.h>
#include <synps/error.h>
#include <synps/testing/codec_conformance.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: conformance_test NAME FILE\n");
    return 2;
  }
  try {
    return synps::testing::run_codec_conformance(synps::load_codec_package(argv[1], argv[2]));
  } catch (const synps::Error& error) {
    std::fprintf(stderr, "conformance_test: error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
