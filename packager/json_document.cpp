#include "json_document.h"

#include <fmt/format.h>

#include <new>

#include "json_locate.h"

namespace synps {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kShownToken = 40;

/// The JSON token a value begins with, without what follows it.
std::string_view token_of(simdjson::ondemand::value& value) {
  const std::string_view raw = value.raw_json_token();
  const std::size_t end = raw.find_last_not_of(kSpace);
  return raw.substr(0, end == raw.npos ? 0 : end + 1);
}

std::string describe(simdjson::ondemand::value& value) {
  const std::string_view token = token_of(value);
  if (token.starts_with('{')) return "an object";
  if (token.starts_with('[')) return "an array";
  if (token.starts_with('"')) return "the string " + quote(token, kShownToken);
  return quote(token, kShownToken);
}

bool is_plain_integer(std::string_view token) {
  if (token.empty() || token.find_first_not_of("0123456789") != token.npos) return false;
  return token == "0" || token.front() != '0';
}

}  // namespace

std::string JsonField::text() const {
  std::string text(kind);
  if (!kind.empty()) text += " " + quote(name);
  if (!kind.empty() && !field.empty()) text += ", ";
  text += field;
  if (index != kNoIndex) text += fmt::format("[{}]", index);
  return text;
}

JsonDocument::JsonDocument(simdjson::padded_string text, JsonOrigin origin)
    : text_(std::move(text)), origin_(std::move(origin)) {
  if (text_.data() == nullptr && text_.size() != 0) throw std::bad_alloc();
  check_ends();
  validate();
}

/// The faults at either end that deserve better words than "improper structure".
void JsonDocument::check_ends() const {
  const std::string what(origin_.what);
  const std::size_t first = origin_.is_text_file ? text().find_first_not_of(kSpace) : 0;
  if (first >= text().size())
    fail({.what = what + " is empty", .want = "a JSON object"}, text().data());
  const char* begin = text().data() + first;
  if (text().starts_with(kByteOrderMark))
    fail({.what = what + " begins with a byte order mark", .want = "'{'"}, begin);
  if (*begin != '{')
    fail({.what = what + " does not begin with '{'", .found = quote({begin, 1}), .want = "'{'"},
         begin);
  const std::size_t last = text().find_last_not_of(kSpace);
  const char* end = text().data() + last;
  if (*end == '\0') {
    const std::size_t json_end = text().find_last_not_of(std::string(kSpace) + '\0');
    fail({.what = "NUL bytes follow the JSON of " + what, .want = "spaces, or nothing"},
         text().data() + json_end + 1);
  }
  if (*end != '}')
    fail({.what = what + " does not end with '}'", .found = quote({end, 1}), .want = "'}'"}, end);
}

void JsonDocument::validate() {
  {
    simdjson::dom::parser parser;
    fault_ = parser.allocate(text().size(), origin_.max_depth);
    if (fault_ == simdjson::SUCCESS) fault_ = parser.parse(text_).error();
  }
  const auto at = [&](const std::optional<std::size_t>& place) {
    return place ? text().data() + *place : nullptr;
  };
  const std::string what(origin_.what);
  switch (fault_) {
    case simdjson::MEMALLOC:
      throw std::bad_alloc();
    case simdjson::UTF8_ERROR:
      fail({.what = what + " is not valid UTF-8"}, at(find_invalid_utf8(text())));
    case simdjson::UNESCAPED_CHARS:
      fail({.what = "a string of " + what + " holds a control character",
            .want = "control characters escaped"},
           at(find_json_faults(text(), origin_.max_depth).control));
    case simdjson::UNCLOSED_STRING:
      fail({.what = "a string of " + what + " has no end"},
           at(find_json_faults(text(), origin_.max_depth).unclosed));
    case simdjson::DEPTH_ERROR:
      fail({.what = what + " is nested too deeply",
            .want = fmt::format("at most {} levels", origin_.max_depth)},
           at(find_json_faults(text(), origin_.max_depth).too_deep));
    default:
      break;
  }
}

simdjson::ondemand::object JsonDocument::root() {
  if (parser_.allocate(text().size()) == simdjson::MEMALLOC) throw std::bad_alloc();
  if (const auto error = parser_.iterate(text_).get(document_)) fail_syntax(error, nullptr);
  simdjson::ondemand::object object;
  check(document_.get_object().get(object));
  return object;
}

void JsonDocument::finish() {
  const char* rest = nullptr;
  if (document_.current_location().get(rest) == simdjson::SUCCESS)
    fail({.what = "text follows the JSON of " + std::string(origin_.what),
          .want = "spaces, or nothing"},
         rest);
  if (fault_ != simdjson::SUCCESS) fail_syntax(fault_, nullptr);
}

void JsonDocument::check(simdjson::error_code error) {
  if (error == simdjson::SUCCESS) return;
  const char* at = nullptr;
  if (document_.current_location().get(at) != simdjson::SUCCESS) at = nullptr;
  fail_syntax(error, at);
}

simdjson::ondemand::object JsonDocument::object(simdjson::ondemand::value& value,
                                                const JsonField& field) {
  if (token_of(value) != "{") fail_type(value, field, "an object");
  simdjson::ondemand::object object;
  check(value.get_object().get(object));
  return object;
}

simdjson::ondemand::array JsonDocument::array(simdjson::ondemand::value& value,
                                              const JsonField& field) {
  if (token_of(value) != "[") fail_type(value, field, "an array");
  simdjson::ondemand::array array;
  check(value.get_array().get(array));
  return array;
}

std::string_view JsonDocument::string(simdjson::ondemand::value& value, const JsonField& field) {
  if (!token_of(value).starts_with('"')) fail_type(value, field, "a string");
  std::string_view string;
  check(value.get_string().get(string));
  return string;
}

std::uint64_t JsonDocument::integer(simdjson::ondemand::value& value, const JsonField& field) {
  constexpr auto kWant = "an integer from 0 to 2^64-1, without sign, fraction or exponent";
  if (!is_plain_integer(token_of(value))) fail_type(value, field, kWant);
  const char* at = place(value);
  const std::string found = describe(value);
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS)
    fail({.what = "a number is too large", .field = field.text(), .found = found, .want = kWant},
         at);
  return number;
}

const char* JsonDocument::place(simdjson::ondemand::value& value) {
  return value.raw_json_token().data();
}

void JsonDocument::fail(Problem problem, const char* at) const {
  throw Error(this->problem(std::move(problem), at));
}

Problem JsonDocument::problem(Problem problem, const char* at) const {
  problem.code = ErrorCode::checkpoint;
  problem.file = origin_.file;
  // The parser may point just past the text, into the padding.
  const char* begin = text().data();
  if (at != nullptr && at >= begin && at <= begin + text().size()) {
    const auto offset = static_cast<std::size_t>(at - begin);
    if (origin_.is_text_file) {
      const LineColumn place = line_column(text(), offset);
      problem.line = static_cast<std::uint32_t>(place.line);
      problem.column = static_cast<std::uint32_t>(place.column);
    } else {
      problem.offset = origin_.offset + offset;
    }
  }
  return problem;
}

void JsonDocument::fail_type(simdjson::ondemand::value& value, const JsonField& field,
                             std::string want) const {
  fail({.what = "a value of another type than wanted",
        .field = field.text(),
        .found = describe(value),
        .want = std::move(want)},
       place(value));
}

void JsonDocument::fail_syntax(simdjson::error_code error, const char* at) const {
  std::string reason = simdjson::error_message(error);
  while (!reason.empty() && reason.back() == '.') reason.pop_back();
  fail({.what = std::string(origin_.what) + " is not valid JSON", .found = std::move(reason)}, at);
}

}  // namespace synps
