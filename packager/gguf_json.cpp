#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "gguf_values.h"
#include "synps/error.h"
#include "synps/gguf.h"

namespace synps {
namespace {

/// A signed value of `bytes` bytes.
std::int64_t sign_extended(std::uint64_t bits, std::size_t bytes) noexcept {
  const unsigned unused = static_cast<unsigned>(64 - 8 * bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

void write_float(JsonWriter& json, double value, std::uint64_t bits, int digits) {
  if (std::isfinite(value))
    json.number(value);
  else
    json.string(fmt::format("0x{:0{}x}", bits, digits));
}

void write_text(JsonWriter& json, std::string_view text) {
  if (is_utf8(text)) {
    json.string(text);
    return;
  }
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  json.begin_object().key("hex").string(hex).end_object();
}

/// What is left of a character at the end, where a text was cut.
void drop_cut_character(std::string& text) {
  for (int i = 0; i < 3 && !text.empty() && !is_utf8(text); ++i) text.pop_back();
}

/// Writes values of a file that has been checked; it may have been cut since.
class ValueWriter {
 public:
  ValueWriter(JsonWriter& json, GgufInput& input, const GgufJsonLimits& limits)
      : json_(json), input_(input), items_(limits.items), string_(limits.string) {}

  void write(const GgufKeyValue& value) {
    input_.jump(value.offset);
    if (value.type == GgufValueType::array)
      write_items(value.items, value.count);
    else if (value.type == GgufValueType::string)
      write_string(value.count);
    else
      write_fixed(value.type);
  }

 private:
  void write_fixed(GgufValueType type);
  void write_string(std::uint64_t size);
  void write_items(GgufValueType type, std::uint64_t count);
  void write_inner_array();

  JsonWriter& json_;
  GgufInput& input_;
  std::uint64_t items_;
  const std::uint64_t string_;
};

void ValueWriter::write_fixed(GgufValueType type) {
  const std::size_t bytes = gguf_fixed_bytes(type);
  const std::uint64_t bits = load_unsigned(input_.take(bytes, "a value"));
  switch (type) {
    case GgufValueType::int8:
    case GgufValueType::int16:
    case GgufValueType::int32:
    case GgufValueType::int64:
      json_.signed_integer(sign_extended(bits, bytes));
      break;
    case GgufValueType::float32:
      write_float(json_, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits, 8);
      break;
    case GgufValueType::float64:
      write_float(json_, std::bit_cast<double>(bits), bits, 16);
      break;
    case GgufValueType::boolean:
      json_.boolean(bits != 0);
      break;
    default:
      json_.integer(bits);
  }
}

void ValueWriter::write_string(std::uint64_t size) {
  const std::uint64_t shown = std::min(size, string_);
  std::string text;
  while (text.size() < shown) {
    const auto part = std::min<std::uint64_t>(shown - text.size(), GgufInput::kBufferBytes);
    const auto bytes = input_.take(part, "a string");
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  input_.skip(size - shown, "a string");
  if (shown != size) {
    drop_cut_character(text);
    text += "…";
  }
  write_text(json_, text);
}

void ValueWriter::write_items(GgufValueType type, std::uint64_t count) {
  json_.begin_array();
  for (std::uint64_t i = 0; i < count && items_ != 0; ++i) {
    --items_;
    if (type == GgufValueType::array)
      write_inner_array();
    else if (type == GgufValueType::string)
      write_string(input_.u64("a string's length"));
    else
      write_fixed(type);
  }
  json_.end_array();
}

/// The sequence of its bytes goes on behind it only when all of it was written: an array whose
/// items ran out ends those around it as well.
void ValueWriter::write_inner_array() {
  const GgufValueType items = read_gguf_value_type(input_);
  const std::uint64_t count = input_.u64("an array's count");
  json_.begin_object().key("items").string(to_string(items)).key("value");
  write_items(items, count);
  json_.end_object();
}

}  // namespace

GgufValueReader::GgufValueReader(const InputFile& file)
    : input_(std::make_unique<GgufInput>(file)) {}
GgufValueReader::~GgufValueReader() = default;

void GgufValueReader::write(JsonWriter& json, const GgufKeyValue& value,
                            const GgufJsonLimits& limits) {
  ValueWriter(json, *input_, limits).write(value);
}

std::optional<std::uint64_t> GgufValueReader::unsigned_integer(const GgufKeyValue& value) {
  using enum GgufValueType;
  const bool is_signed =
      value.type == int8 || value.type == int16 || value.type == int32 || value.type == int64;
  const bool is_unsigned =
      value.type == uint8 || value.type == uint16 || value.type == uint32 || value.type == uint64;
  if (!is_signed && !is_unsigned) return std::nullopt;
  input_->jump(value.offset);
  const std::size_t bytes = gguf_fixed_bytes(value.type);
  const std::uint64_t bits = load_unsigned(input_->take(bytes, "a value"));
  if (is_signed && sign_extended(bits, bytes) < 0) return std::nullopt;
  return bits;
}

}  // namespace synps
