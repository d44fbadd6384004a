#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "synps/error.h"

namespace synps {

/// A strict look at one JSON object of an artifact's index: every field must be there, none
/// besides. Faults are Error(artifact) with the path of the field (`weights[3].shape`).
class JsonObject {
 public:
  /// `place` names the object, `file` the file, for messages.
  JsonObject(simdjson::dom::element element, std::string place, const std::string& file)
      : place_(std::move(place)), file_(&file) {
    if (element.get(object_) != simdjson::SUCCESS) fail("", "an object");
  }

  std::string_view string(std::string_view key) { return get<std::string_view>(key, "a string"); }
  std::uint64_t integer(std::string_view key) {
    return get<std::uint64_t>(key, "an integer from 0 to 2^64 - 1");
  }
  bool boolean(std::string_view key) { return get<bool>(key, "true or false"); }
  simdjson::dom::array array(std::string_view key) {
    return get<simdjson::dom::array>(key, "an array");
  }
  simdjson::dom::element element(std::string_view key) {
    return get<simdjson::dom::element>(key, "a value");
  }

  bool has(std::string_view key) const { return object_.at_key(key).error() == simdjson::SUCCESS; }

  /// To be called after every field was asked for.
  void expect_no_other_field() const {
    if (object_.size() != asked_) fail("", "no other or repeated fields");
  }

  std::string place_of(std::string_view key) const {
    return place_.empty() ? std::string(key) : place_ + "." + std::string(key);
  }

  [[noreturn]] void fail(std::string_view key, std::string want, std::string found = {}) const {
    throw Error({.code = ErrorCode::artifact,
                 .file = *file_,
                 .what = "the artifact's index is malformed",
                 .field = key.empty() ? place_ : place_of(key),
                 .found = std::move(found),
                 .want = std::move(want),
                 .hint = "it was not written by this version of synps, or it is damaged"});
  }

 private:
  template <typename Value>
  Value get(std::string_view key, const char* want) {
    ++asked_;
    Value value{};
    if (object_.at_key(key).get(value) != simdjson::SUCCESS) fail(key, want);
    return value;
  }

  simdjson::dom::object object_;
  std::string place_;
  const std::string* file_;
  std::size_t asked_ = 0;
};

}  // namespace synps
