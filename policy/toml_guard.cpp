#include "toml_guard.h"

#include <cstdint>

#include <fmt/format.h>

#include "problem_list.h"
#include "synps/error.h"

namespace synps {
namespace {

// Bytes of the UTF-8 sequence that starts `text`, 0 when it is not valid.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_large = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

class Guard {
 public:
  Guard(std::string_view text, const std::string& file) : text_(text), problems_(file) {}

  void check() {
    check_size();
    check_byte_order_mark();
    while (at_ < text_.size()) step();
  }

 private:
  [[noreturn]] void fail(SourcePlace place, Problem problem, ErrorCode code) {
    problems_.add(place, std::move(problem), code);
    problems_.throw_all();
  }

  void check_size() {
    if (text_.size() <= kMaxPolicyBytes) return;
    fail({1, 1},
         {.what = "the policy file is too large",
          .found = fmt::format("{} bytes", text_.size()),
          .want = fmt::format("at most {} bytes", kMaxPolicyBytes)},
         ErrorCode::limit);
  }

  void check_byte_order_mark() {
    if (!text_.starts_with("\xEF\xBB\xBF")) return;
    fail({1, 1},
         {.what = "the file starts with a byte order mark",
          .found = "U+FEFF",
          .want = "plain UTF-8",
          .hint = "save it as UTF-8 without a byte order mark"},
         ErrorCode::policy);
  }

  // Takes one token: a string, a comment, or one character.
  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_comment();
    if (c == '[' || c == '{') {
      if (c == '[' && depth_ == 0 && line_is_blank_) header_ = true;
      open();
    } else if (c == ']' || c == '}') {
      if (depth_ > 0) --depth_;
    } else if (c == '.') {
      dot();
    }
    if (c == '=' || c == ',' || c == '[' || c == '{' || c == '\n') parts_ = 1;
    advance();
  }

  void open() {
    if (++depth_ <= kMaxTomlNesting) return;
    fail({line_, column_},
         {.what = "arrays and tables are nested too deep",
          .found = fmt::format("level {}", depth_),
          .want = fmt::format("at most {}", kMaxTomlNesting)},
         ErrorCode::limit);
  }

  void dot() {
    if (++parts_ <= kMaxDottedParts) return;
    fail({line_, column_},
         {.what = "a dotted key has too many parts",
          .found = fmt::format("part {}", parts_),
          .want = fmt::format("at most {}", kMaxDottedParts),
          .hint = "a pattern with dots is one quoted key: [policies.\"model.layers\"]"},
         ErrorCode::limit);
  }

  // Passes one character.
  void advance() {
    const std::size_t length = utf8_length(text_.substr(at_));
    if (length == 0) fail_utf8();
    const char c = text_[at_];
    if (c == '\0') fail_nul();
    at_ += length;
    ++column_;
    if (c != ' ' && c != '\t') line_is_blank_ = false;
    if (c == '\n') start_line();
  }

  // A table header ends with its line, closed or not.
  void start_line() {
    ++line_;
    column_ = 1;
    line_is_blank_ = true;
    if (header_) depth_ = 0;
    header_ = false;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') advance();
  }

  void skip_string(char quote) {
    const std::string delimiter(3, quote);
    if (text_.substr(at_).starts_with(delimiter)) return skip_multiline(quote, delimiter);
    advance();
    while (at_ < text_.size() && text_[at_] != '\n') {
      const char c = text_[at_];
      advance();
      if (c == quote) return;
      if (c == '\\' && quote == '"' && at_ < text_.size() && text_[at_] != '\n') advance();
    }
  }

  void skip_multiline(char quote, const std::string& delimiter) {
    for (int i = 0; i < 3; ++i) advance();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(delimiter)) {
      const char c = text_[at_];
      advance();
      if (c == '\\' && quote == '"' && at_ < text_.size()) advance();
    }
    // The string may end in one or two quotes of its own before the closing three.
    for (int i = 0; i < 5 && at_ < text_.size() && text_[at_] == quote; ++i) advance();
  }

  [[noreturn]] void fail_utf8() {
    fail({line_, column_},
         {.what = "the file is not UTF-8",
          .found = fmt::format("byte 0x{:02X}", static_cast<unsigned char>(text_[at_])),
          .want = "valid UTF-8",
          .hint = "save it as UTF-8"},
         ErrorCode::policy);
  }

  [[noreturn]] void fail_nul() {
    fail({line_, column_},
         {.what = "the file holds a NUL character", .found = "U+0000", .want = "text"},
         ErrorCode::policy);
  }

  std::string_view text_;
  ProblemList problems_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
  std::size_t depth_ = 0;      // brackets and braces open here
  std::size_t parts_ = 1;      // of the dotted key here
  bool line_is_blank_ = true;  // nothing but spaces so far
  bool header_ = false;        // the line is a table header
};

}  // namespace

void guard_toml(std::string_view text, const std::string& file) {
  Guard(text, file).check();
}

}  // namespace synps
