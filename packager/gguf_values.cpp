#include "gguf_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "synps/checked.h"

namespace synps {
namespace {

// Sizes and names: the GGUF specification (ggml/docs/gguf.md), version 3.
struct Row {
  std::string_view name;
  std::uint64_t bytes;  // 0: it has no fixed size
};
constexpr std::array<Row, 13> kRows{{{"uint8", 1},
                                     {"int8", 1},
                                     {"uint16", 2},
                                     {"int16", 2},
                                     {"uint32", 4},
                                     {"int32", 4},
                                     {"float32", 4},
                                     {"bool", 1},
                                     {"string", 0},
                                     {"array", 0},
                                     {"uint64", 8},
                                     {"int64", 8},
                                     {"float64", 8}}};

/// Arrays in arrays that are read. The specification has no limit; no known file has even one.
constexpr unsigned kMaxDepth = 8;
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kArrayHeaderBytes = 12;  // type and count

struct Array {
  GgufValueType items = GgufValueType::uint8;
  std::uint64_t count = 0;
  std::uint64_t offset = 0;  // of the first element
};

void scan_string(GgufInput& input) {
  const std::uint64_t at = input.offset();
  const std::uint64_t size = input.u64("a string's length");
  if (size > input.left())
    input.fail({.what = "a string ends past the end of the file",
                .offset = at,
                .found = fmt::format("{} bytes", size),
                .want = fmt::format("at most {}", input.left()),
                .hint = "the file may be cut short"});
  input.skip(size, "a string");
}

void scan_booleans(GgufInput& input, std::uint64_t count) {
  while (count != 0) {
    const std::uint64_t at = input.offset();
    const std::uint64_t size = std::min<std::uint64_t>(count, GgufInput::kBufferBytes);
    const std::span<const std::byte> bytes = input.take(size, "a boolean");
    const auto bad = std::find_if(bytes.begin(), bytes.end(),
                                  [](std::byte byte) { return byte > std::byte{1}; });
    if (bad != bytes.end())
      input.fail({.what = "a boolean that is neither 0 nor 1",
                  .offset = at + static_cast<std::uint64_t>(bad - bytes.begin()),
                  .found = fmt::format("{}", std::to_integer<unsigned>(*bad)),
                  .want = "0 or 1"});
    count -= size;
  }
}

Array scan_array(GgufInput& input, unsigned depth) {
  if (depth > kMaxDepth)
    input.fail({.what = "arrays nested too deeply",
                .offset = input.offset(),
                .want = fmt::format("at most {} in each other", kMaxDepth)});
  Array array;
  array.items = read_gguf_value_type(input);
  const std::uint64_t at = input.offset();
  array.count = input.u64("an array's count");
  array.offset = input.offset();
  const std::uint64_t fixed = gguf_fixed_bytes(array.items);
  const std::uint64_t least = fixed != 0                             ? fixed
                              : array.items == GgufValueType::string ? kLengthBytes
                                                                     : kArrayHeaderBytes;
  input.check_count(array.count, least, "array elements", at);
  if (array.items == GgufValueType::boolean)
    scan_booleans(input, array.count);
  else if (fixed != 0)
    input.skip(array.count * fixed, "an array");  // checked: they fit the file
  else if (array.items == GgufValueType::string)
    for (std::uint64_t i = 0; i < array.count; ++i) scan_string(input);
  else
    for (std::uint64_t i = 0; i < array.count; ++i) scan_array(input, depth + 1);
  return array;
}

/// Whether two values of equal size are the same bytes.
bool same_bytes(const InputFile& a, const GgufKeyValue& in_a, const InputFile& b,
                const GgufKeyValue& in_b) {
  std::array<std::byte, 4096> from_a;
  std::array<std::byte, 4096> from_b;
  for (std::uint64_t at = 0; at < in_a.bytes;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(4096, in_a.bytes - at));
    a.read(in_a.offset + at, std::span(from_a).first(size));
    b.read(in_b.offset + at, std::span(from_b).first(size));
    if (!std::equal(from_a.begin(), from_a.begin() + size, from_b.begin())) return false;
    at += size;
  }
  return true;
}

}  // namespace

bool same_gguf_value(const InputFile& a, const GgufKeyValue& in_a, const InputFile& b,
                     const GgufKeyValue& in_b) {
  const bool alike = in_a.type == in_b.type && in_a.items == in_b.items &&
                     in_a.count == in_b.count && in_a.bytes == in_b.bytes;
  return alike && same_bytes(a, in_a, b, in_b);
}

std::string_view to_string(GgufValueType type) noexcept {
  return kRows[static_cast<std::size_t>(type)].name;
}

std::uint64_t gguf_fixed_bytes(GgufValueType type) noexcept {
  return kRows[static_cast<std::size_t>(type)].bytes;
}

GgufValueType read_gguf_value_type(GgufInput& input) {
  const std::uint64_t at = input.offset();
  const std::uint32_t number = input.u32("a value's type");
  if (number >= kRows.size())
    input.fail({.what = "an unknown value type",
                .offset = at,
                .found = fmt::format("{}", number),
                .want = fmt::format("0 to {}", kRows.size() - 1)});
  return static_cast<GgufValueType>(number);
}

void scan_gguf_value(GgufInput& input, GgufKeyValue& key_value) {
  if (key_value.type == GgufValueType::array) {
    const Array array = scan_array(input, 1);
    key_value.items = array.items;
    key_value.count = array.count;
    key_value.offset = array.offset;
  } else if (key_value.type == GgufValueType::string) {
    key_value.offset = input.offset() + kLengthBytes;
    scan_string(input);
    key_value.count = input.offset() - key_value.offset;
  } else {
    key_value.offset = input.offset();
    if (key_value.type == GgufValueType::boolean)
      scan_booleans(input, 1);
    else
      input.skip(gguf_fixed_bytes(key_value.type), "a value");
  }
  key_value.bytes = input.offset() - key_value.offset;
}

}  // namespace synps
