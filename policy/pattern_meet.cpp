#include "pattern_meet.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "pattern_syntax.h"
#include "pattern_text.h"
#include "synps/error.h"
#include "synps/path_pattern.h"

namespace synps::pattern {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMaxWords = 256;  ///< of a segment that is taken word by word
constexpr std::size_t kMaxListed = 32;  ///< alternatives that a person still reads

/// A segment pattern as a path pattern: behind an empty segment, since it may be empty itself.
PathPattern as_pattern(std::string_view segment) {
  return PathPattern::parse("." + std::string(segment));
}

bool matches(const PathPattern& segment, std::string_view word) {
  return segment.covers("." + std::string(word));
}

std::optional<Words> words_of(const Glob& glob);

std::optional<Words> words_of(const NumberRange& range) {
  if (range.last - range.first >= kMaxWords) return std::nullopt;
  Words out;
  for (std::uint64_t number = range.first; number <= range.last; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < range.width) digits.insert(0, range.width - digits.size(), '0');
    out.push_back(std::move(digits));
  }
  return out;
}

std::optional<Words> words_of(const GlobNode& node) {
  if (node.kind == GlobNode::Kind::range) return words_of(node.range);
  Words out;
  if (node.kind == GlobNode::Kind::literal) {
    append_code_point(out.emplace_back(), node.code_point);
    return out;
  }
  if (node.kind != GlobNode::Kind::choice) return std::nullopt;
  for (const Glob& alternative : node.alternatives) {
    const std::optional<Words> more = words_of(alternative);
    if (!more || out.size() + more->size() > kMaxWords) return std::nullopt;
    out.insert(out.end(), more->begin(), more->end());
  }
  return out;
}

/// What `glob` matches, if that is a short list.
std::optional<Words> words_of(const Glob& glob) {
  Words out = {""};
  for (const GlobNode& node : glob) {
    const std::optional<Words> ends = words_of(node);
    if (!ends || out.size() * ends->size() > kMaxWords) return std::nullopt;
    Words longer;
    for (const std::string& begin : out)
      for (const std::string& end : *ends) longer.push_back(begin + end);
    out = std::move(longer);
  }
  return out;
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// A word as HEAD NUMBER TAIL, around its first number.
struct NumberedWord {
  std::string head;
  std::string digits;
  std::string tail;
};

NumberedWord around_number(const std::string& word) {
  const auto begin = std::find_if(word.begin(), word.end(), is_digit);
  const auto end = std::find_if_not(begin, word.end(), is_digit);
  return {std::string(word.begin(), begin), std::string(begin, end), std::string(end, word.end())};
}

/// `words` as HEAD{A..B}TAIL, when they are that.
std::optional<std::string> write_range(const Words& words) {
  constexpr std::size_t kMaxDigits = 18;
  const NumberedWord front = around_number(words.front());
  std::vector<std::uint64_t> numbers;
  bool same_width = true;
  bool padded = false;
  for (const std::string& word : words) {
    const NumberedWord parts = around_number(word);
    if (parts.head != front.head || parts.tail != front.tail) return std::nullopt;
    if (parts.digits.empty() || parts.digits.size() > kMaxDigits) return std::nullopt;
    same_width = same_width && parts.digits.size() == front.digits.size();
    padded = padded || (parts.digits.size() > 1 && parts.digits.front() == '0');
    numbers.push_back(std::stoull(parts.digits));
  }
  if (padded && !same_width) return std::nullopt;
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != numbers[i - 1] + 1) return std::nullopt;
  const auto digits = [&](std::uint64_t number) {
    std::string out = std::to_string(number);
    if (padded) out.insert(0, front.digits.size() - out.size(), '0');
    return out;
  };
  return escape_literal(front.head) + "{" + digits(numbers.front()) + ".." +
         digits(numbers.back()) + "}" + escape_literal(front.tail);
}

std::optional<std::string> write_words(const Words& words) {
  if (words.size() == 1) return escape_literal(words.front());
  if (std::optional<std::string> range = write_range(words)) return range;
  if (words.size() > kMaxListed) return std::nullopt;
  std::string out;
  for (const std::string& word : words)
    out += (out.empty() ? "{" : ",") + escape_literal(word, true);
  return out + "}";
}

/// The words of `finite` that `other` matches too, if `finite` is a short list.
std::optional<std::string> meet_words(const Glob& finite, const PathPattern& other) {
  const std::optional<Words> words = words_of(finite);
  if (!words) return std::nullopt;
  Words shared;
  for (const std::string& word : *words) {
    const bool known = std::find(shared.begin(), shared.end(), word) != shared.end();
    if (!known && matches(other, word)) shared.push_back(word);
  }
  if (shared.empty()) return std::nullopt;
  return write_words(shared);
}

/// `front*` and `*back` meet in `front*back`, apart from words in which the two ends share letters.
std::optional<std::string> meet_ends(const SegmentPattern& front, const SegmentPattern& back,
                                     std::string_view own) {
  const auto is_run = [](const GlobNode& node) { return node.kind == GlobNode::Kind::any_run; };
  if (front.glob.empty() || back.glob.empty()) return std::nullopt;
  if (!is_run(front.glob.back()) || !is_run(back.glob.front())) return std::nullopt;
  std::string text = front.text + back.text.substr(1);
  if (!matches(as_pattern(text), own)) return std::nullopt;
  return text;
}

std::string meet_overlapping(const std::string& a, const std::string& b, std::string_view own) {
  const SegmentPattern parsed_a = parse_pattern("." + a).back();
  const SegmentPattern parsed_b = parse_pattern("." + b).back();
  if (auto text = meet_words(parsed_a.glob, as_pattern(b))) return *text;
  if (auto text = meet_words(parsed_b.glob, as_pattern(a))) return *text;
  if (auto text = meet_ends(parsed_a, parsed_b, own)) return *text;
  if (auto text = meet_ends(parsed_b, parsed_a, own)) return *text;
  return escape_literal(own);
}

std::string meet_two(const std::string& a, const std::string& b, std::string_view own,
                     std::uint64_t& steps) {
  switch (as_pattern(a).compare(as_pattern(b), steps)) {
    case Inclusion::equal:
    case Inclusion::narrower:
      return a;
    case Inclusion::broader:
      return b;
    case Inclusion::overlapping:
    case Inclusion::disjoint:
      break;
  }
  return meet_overlapping(a, b, own);
}

}  // namespace

std::string meet_segments(const std::vector<std::string>& segments, std::string_view own,
                          std::uint64_t& steps) {
  try {
    std::string out = segments.front();
    for (const std::string& segment : segments) out = meet_two(out, segment, own, steps);
    return out;
  } catch (const Error&) {  // a meeting too long or too complex to write or compare
    return escape_literal(own);
  }
}

}  // namespace synps::pattern
