#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "synps/error.h"

namespace synps {

/// Which value of a JSON text a message is about: `tensor 'a.b', shape[2]`. Cheap to make: the text
/// is put together only when there is a message. The views must outlive it.
struct JsonField {
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);

  std::string_view kind = {};    ///< of the thing named: "tensor"; may be empty
  std::string_view name = {};    ///< of the thing, unescaped; only with a kind
  std::string_view field = {};   ///< of the thing; may be empty
  std::size_t index = kNoIndex;  ///< in the field, when that is an array

  std::string text() const;
};

/// What a JSON text is and where it comes from, for messages and limits.
struct JsonOrigin {
  std::string file;
  std::string_view what;       ///< "the header", "the shard index"
  std::uint64_t offset = 0;    ///< bytes of the file before the text
  bool is_text_file = false;   ///< places are lines and columns, not offsets; may begin with space
  std::size_t max_depth = 16;  ///< levels of nesting allowed
};

/// A key of a JSON object, unescaped. Valid as long as its document.
struct JsonKey {
  std::string_view name;
  const char* at = nullptr;  ///< its opening quote, for JsonDocument::fail
};

/// A JSON object read from its first byte to its last.
///
/// simdjson's DOM parser judges the text first: it checks everything, but says nothing about
/// places, keeps duplicate keys and reads -0 as 0. Values are then taken by walking the text with
/// the On-Demand parser, which knows places but skips what is not asked for. Where the DOM found a
/// fault, the walk is what finds its place; finish() reports one that the walk did not meet.
///
/// Everything throws Error(checkpoint).
class JsonDocument {
 public:
  JsonDocument(simdjson::padded_string text, JsonOrigin origin);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  /// Calls visit(JsonKey, simdjson::ondemand::value&) for every field of the root, once.
  template <typename Visit>
  void walk(Visit&& visit) {
    each_field(root(), visit);
    finish();
  }

  /// The same for an object inside.
  template <typename Visit>
  void each_field(simdjson::ondemand::object object, Visit&& visit) {
    for (auto item : object) {
      simdjson::ondemand::field field;
      check(std::move(item).get(field));
      const char* at = field.key().raw() - 1;
      std::string_view name;
      check(field.unescaped_key().get(name));
      visit(JsonKey{name, at}, field.value());
    }
  }
  /// Calls visit(simdjson::ondemand::value&) for every element.
  template <typename Visit>
  void each_element(simdjson::ondemand::array array, Visit&& visit) {
    for (auto item : array) {
      simdjson::ondemand::value value;
      check(std::move(item).get(value));
      visit(value);
    }
  }

  /// The value as that type. `field` is for the message when it is another type.
  simdjson::ondemand::object object(simdjson::ondemand::value& value, const JsonField& field);
  simdjson::ondemand::array array(simdjson::ondemand::value& value, const JsonField& field);
  std::string_view string(simdjson::ondemand::value& value, const JsonField& field);
  /// A JSON integer from 0 to 2^64−1, written without sign, fraction or exponent.
  std::uint64_t integer(simdjson::ondemand::value& value, const JsonField& field);

  /// The problem with code, file and the place of `at` filled in. `at` points into this text, or
  /// is null: no place.
  Problem problem(Problem problem, const char* at) const;
  /// Throws that.
  [[noreturn]] void fail(Problem problem, const char* at) const;

  /// The place of a value, for fail().
  static const char* place(simdjson::ondemand::value& value);

 private:
  std::string_view text() const noexcept { return {text_.data(), text_.size()}; }
  void check_ends() const;
  void validate();
  simdjson::ondemand::object root();
  void finish();
  void check(simdjson::error_code error);
  [[noreturn]] void fail_type(simdjson::ondemand::value& value, const JsonField& field,
                              std::string want) const;
  [[noreturn]] void fail_syntax(simdjson::error_code error, const char* at) const;

  simdjson::padded_string text_;
  JsonOrigin origin_;
  simdjson::error_code fault_ = simdjson::SUCCESS;  ///< the DOM parser's verdict
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
};

}  // namespace synps
