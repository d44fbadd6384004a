#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace synps {

/// Whether `text` is UTF-8 (RFC 3629), as JSON must be.
bool is_utf8(std::string_view text) noexcept;

/// Appends `text` as a JSON string, as Python's json.dumps(ensure_ascii=False) writes it.
void append_json_string(std::string& out, std::string_view text);

/// Writes JSON with no white space, in the order it is told. Keys are the caller's to sort where
/// the result must be canonical.
class JsonWriter {
 public:
  JsonWriter() = default;
  /// Goes on after `start`, where no comma is due.
  explicit JsonWriter(std::string start) : text_(std::move(start)) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::uint64_t value);
  JsonWriter& signed_integer(std::int64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  /// The shortest text that reads back as the same double; null for NaN and infinities, which JSON
  /// lacks. Negative zero is "-0.0", which no reader takes for an integer. Not for the artifact's
  /// index.
  JsonWriter& number(double value);

  const std::string& text() const noexcept { return text_; }
  std::string take() { return std::move(text_); }

 private:
  void separate();
  std::string text_;
  bool need_comma_ = false;
};

}  // namespace synps
