#include "synps/safetensors.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <new>

#include "safetensors_parse.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/file_kind.h"
#include "synps/padded_text.h"

namespace synps {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

[[noreturn]] void fail(const InputFile& file, std::string what, std::string found, std::string want,
                       std::string hint = {}) {
  throw Error({.code = ErrorCode::checkpoint,
               .file = file.path(),
               .what = std::move(what),
               .field = "header length",
               .offset = 0,
               .found = std::move(found),
               .want = std::move(want),
               .hint = std::move(hint)});
}

void check_kind(const InputFile& file) {
  std::array<char, kKindBytes> head;
  const auto size = std::min<std::uint64_t>(head.size(), file.size());
  file.read(0, std::as_writable_bytes(std::span(head)).first(size));
  refuse_other_kinds({head.data(), size}, file.path(), {.name = "a safetensors file"});
}

/// The length field, checked against the format's limit and the file before anything is allocated.
std::uint64_t read_length(const InputFile& file) {
  if (file.size() < kLengthBytes)
    fail(file, "the file is too short for safetensors", fmt::format("{} bytes", file.size()),
         "at least 8 bytes, the header's length");
  std::array<std::byte, kLengthBytes> field;
  file.read(0, field);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < field.size(); ++i)
    length |= static_cast<std::uint64_t>(field[i]) << (8 * i);
  if (length > kMaxHeaderBytes)
    fail(file, "the header is longer than safetensors allows", fmt::format("{} bytes", length),
         fmt::format("at most {}", kMaxHeaderBytes), "is this a safetensors file?");
  if (!range_fits(kLengthBytes, length, file.size()))
    fail(file, "the header ends past the end of the file", fmt::format("{} bytes", length),
         fmt::format("at most {}", file.size() - kLengthBytes), "the file may be cut short");
  return length;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const InputFile& file) {
  check_kind(file);
  const std::uint64_t length = read_length(file);
  simdjson::padded_string json = padded_buffer(length);
  if (length != 0 && json.data() == nullptr) throw std::bad_alloc();
  file.read(kLengthBytes, std::as_writable_bytes(std::span(json.data(), length)));
  return parse_safetensors_header(std::move(json), file.size() - kLengthBytes - length,
                                  file.path());
}

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file) {
  return parse_safetensors_header(padded_text(json), data_bytes, file);
}

}  // namespace synps
