// Writes what the C programs open, into the folder that is named: model.synps; damaged.synps, with
// a wrong byte in layer.0.down.weight; cut.synps, without its last byte; large.synps, with a weight
// whose products are several units of work; and text.synps, which is none.

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact_reader.h"

namespace synps::testing {
namespace {

std::vector<float> values(std::uint64_t count) {
  std::vector<float> made(count);
  for (std::uint64_t i = 0; i < count; ++i)
    made[i] = static_cast<float>((i * 37) % 255) / 64.0f - 2.0f;
  return made;
}

template <typename Value>
std::vector<std::byte> bytes_of(const std::vector<Value>& from) {
  std::vector<std::byte> bytes(from.size() * sizeof(Value));
  std::memcpy(bytes.data(), from.data(), bytes.size());
  return bytes;
}

WeightToStore packed(const std::string& path, Shape shape, const std::string& codec) {
  WeightToStore weight;
  weight.path = path;
  weight.shape = shape;
  weight.codec = codec;
  weight.values = values(shape.elements());
  return weight;
}

std::vector<WeightToStore> model() {
  WeightToStore norm;
  norm.path = "layer.0.norm";
  norm.shape = Shape{6};
  norm.bytes = bytes_of(std::vector<float>{0, 0.5f, 1, 1.5f, 2, 2.5f});
  WeightToStore ids;
  ids.path = "ids";
  ids.shape = Shape{3};
  ids.dtype = DType::i64;
  ids.bytes = bytes_of(std::vector<std::int64_t>{7, 8, 9});
  WeightToStore heap = packed("layer.0.up.weight", Shape{24, 64}, "q4_0");
  heap.residency = ResidencyRequest::heap;
  WeightToStore volatile_one = packed("layer.1.volatile.weight", Shape{32, 64}, "q8_0");
  volatile_one.is_volatile = true;
  WeightToStore compressed = packed("layer.1.zstd.weight", Shape{16, 64}, "f16");
  compressed.compress = {Compression::zstd, 3};
  return {packed("layer.0.down.weight", Shape{40, 96}, "q8_0"),
          norm,
          ids,
          heap,
          volatile_one,
          compressed,
          packed("layer.1.ternary.weight", Shape{16, 100}, "ternary:ternary")};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_all(const std::string& folder) {
  const std::string path = folder + "/model.synps";
  build_artifact(path, model(), {{"author", "someone"}, {"format", "pt"}});
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const ArtifactReader reader(path);
  std::string damaged = bytes;
  damaged[reader.file_offset(reader.find("layer.0.down.weight")->components[0])] ^= 1;
  write(folder + "/damaged.synps", damaged);
  write(folder + "/cut.synps", bytes.substr(0, bytes.size() - 1));
  build_artifact(folder + "/large.synps", {packed("large.weight", Shape{256, 1024}, "f32")});
  write(folder + "/text.synps", "this is no artifact");
}

}  // namespace
}  // namespace synps::testing

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    synps::testing::write_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_c_artifacts: %s\n", error.what());
    return 1;
  }
}
