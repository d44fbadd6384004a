// The header of a GGUF file. An input is the file itself, which is opened and whose key-values are
// written as JSON.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz_support.h"
#include "synps/gguf.h"
#include "synps/gguf_types.h"

using namespace synps;
using namespace synps::testing;

namespace {

/// The one file there is, in memory.
class MemoryOs : public Os {
 public:
  MemoryOs(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  int open(const std::string&, Open) override { return 0; }
  int close(int) override { return 0; }
  std::int64_t pread(int, void* out, std::size_t size, std::uint64_t offset) override {
    if (offset >= size_) return 0;
    const std::size_t count = std::min<std::size_t>(size, size_ - offset);
    std::memcpy(out, data_ + offset, count);
    return static_cast<std::int64_t>(count);
  }
  int status(int, FileStatus& status) override {
    status.kind = FileStatus::Kind::regular;
    status.size = size_;
    return 0;
  }
  int status(const std::string&, bool, FileStatus& status) override {
    return this->status(0, status);
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
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
  MemoryOs os(data, size);
  try {
    const InputFile file(os, "fuzz");
    require_sound(read_gguf_header(file), file);
  } catch (const Error& error) {
    require_useful(error, "fuzz", ErrorCode::checkpoint);
    const auto& offset = error.problems().front().offset;
    require(!offset || *offset <= size, "the offset is in the file");
  }
  return 0;
}
