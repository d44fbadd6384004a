// Converts a weight of an artifact in memory, and tells what that costs. Links nothing but
// synps::runtime.
//
//   convert_weight ARTIFACT WEIGHT CODEC
//
// for example: convert_weight model.synps model.layers.0.mlp.down_proj.weight q4_0

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "synps/artifact.h"
#include "synps/builtin_codecs.h"
#include "synps/error.h"
#include "synps/weight_conversion.h"

namespace {

void print(const char* what, const synps::WeightStorage& storage) {
  std::printf("%-11s %s, %llu bytes, history:", what,
              storage.codec() != nullptr ? storage.codec()->info().id().c_str() : "keep",
              static_cast<unsigned long long>(storage.bytes()));
  for (const synps::CodecRef& codec : storage.history()) std::printf(" %s", codec.id().c_str());
  std::printf("\n");
}

double largest_error(const synps::WeightStorage& a, const synps::WeightStorage& b) {
  const std::vector<float> x = a.decode();
  const std::vector<float> y = b.decode();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::fmax(largest, std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
  return largest;
}

int convert(const std::string& artifact, const std::string& path, const std::string& name) {
  const auto& codecs = synps::builtin_registry();
  const synps::Codec* codec = codecs.resolve(name);
  const synps::Codec* f32 = codecs.resolve("f32");
  if (codec == nullptr) {
    std::fprintf(stderr, "no codec %s\n", synps::escape_for_display(name).c_str());
    return 2;
  }
  const auto model = synps::Artifact::open(artifact);
  synps::ThreadPool pool;
  // as in docs/runtime.md: begin
  const synps::SharedStorage stored = model[path].storage();
  const auto packed = synps::requantize(stored, {.codec = codec}, {.executor = &pool});
  const auto small =
      synps::repack(packed, {.compress = synps::CompressRequest{synps::Compression::zstd, 3}});
  const auto values = synps::repack(small, {.codec = f32, .compress = synps::CompressRequest{}});
  // as in docs/runtime.md: end
  print("stored", *stored);
  print("requantized", *packed);
  print("compressed", *small);
  print("f32", *values);
  std::printf("largest error %g\n", largest_error(*stored, *values));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: convert_weight ARTIFACT WEIGHT CODEC\n");
    return 2;
  }
  try {
    return convert(argv[1], argv[2], argv[3]);
  } catch (const synps::Error& error) {
    std::fprintf(stderr, "convert_weight: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
