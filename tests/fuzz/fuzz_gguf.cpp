// The header of a GGUF file. An input is the file itself, which is opened and whose key-values are
// written as JSON.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz_support.h"
#include "synps/gguf.h"
#include "synps/gguf_types.h"

using namespace synps;
using namespace synps::testing;

namespace {

/// A file of this process, written again for every input.
class InputOfFuzzer {
 public:
  InputOfFuzzer()
      : path_((std::filesystem::temp_directory_path() /
               ("synps-fuzz-gguf-" + std::to_string(::getpid())))
                  .string()) {}
  ~InputOfFuzzer() { std::remove(path_.c_str()); }
  void write(const std::uint8_t* data, std::size_t size) const {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    require(file != nullptr, "the input can be written");
    require(std::fwrite(data, 1, size, file) == size, "the input can be written");
    require(std::fclose(file) == 0, "the input can be written");
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void require_sound(const GgufHeader& header, const InputFile& file) {
  std::uint64_t end = 0;
  std::vector<const GgufTensor*> tensors;
  for (const GgufTensor& tensor : header.tensors) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(),
            [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
  for (const GgufTensor* tensor : tensors) {
    require(tensor->offset >= end, "no overlap");
    require(tensor->offset % 8 == 0, "offsets are aligned");
    require(find_gguf_type(tensor->type)->bytes(tensor->shape.elements()) == tensor->bytes,
            "sizes fit");
    require(is_utf8(tensor->name), "names are UTF-8");
    end = tensor->offset + tensor->bytes;
    require(end <= file.size(), "tensors are inside the file");
  }
  GgufValueReader reader(file);
  for (const GgufKeyValue& value : header.key_values) {
    require(is_utf8(value.key), "keys are UTF-8");
    require(value.bytes <= file.size(), "values are inside the file");
    JsonWriter json;
    reader.write(json, value);
    require(is_utf8(json.text()), "JSON is UTF-8");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputOfFuzzer kInput;
  kInput.write(data, size);
  try {
    const InputFile file(Os::posix(), kInput.path());
    require_sound(read_gguf_header(file), file);
  } catch (const Error& error) {
    require_useful(error, kInput.path(), ErrorCode::checkpoint);
    const auto& offset = error.problems().front().offset;
    require(!offset || *offset <= size, "the offset is in the file");
  }
  return 0;
}
