#include "pattern_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "pattern_text.h"
#include "synps/error.h"

namespace synps::pattern {
namespace {

/// The parts of a message that differ; `column` is 0-based here.
struct Complaint {
  std::size_t column = 0;
  std::string what;
  std::string found;
  std::string want;
  std::string hint;
  ErrorCode code = ErrorCode::policy;
};

[[noreturn]] void fail(Complaint complaint) {
  Problem problem;
  problem.code = complaint.code;
  problem.what = std::move(complaint.what);
  problem.found = std::move(complaint.found);
  problem.want = std::move(complaint.want);
  problem.hint = std::move(complaint.hint);
  problem.column = static_cast<std::uint32_t>(complaint.column + 1);
  throw Error(std::move(problem));
}

bool is_digit(char32_t c) noexcept {
  return c >= U'0' && c <= U'9';
}

/// Both bounds of a range as they are written.
struct Bounds {
  std::string first;
  std::string last;
};

/// `inner` as DIGITS..DIGITS.
std::optional<Bounds> split_bounds(std::u32string_view inner) {
  const std::size_t dots = inner.find(U"..");
  if (dots == std::u32string_view::npos) return std::nullopt;
  const std::u32string_view parts[] = {inner.substr(0, dots), inner.substr(dots + 2)};
  for (const std::u32string_view part : parts)
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_digit)) return std::nullopt;
  return Bounds{std::string(parts[0].begin(), parts[0].end()),
                std::string(parts[1].begin(), parts[1].end())};
}

/// Digits without leading zeros, so that longer means larger.
std::string_view significant(std::string_view digits) {
  const std::size_t start = digits.find_first_not_of('0');
  return start == std::string_view::npos ? digits.substr(digits.size() - 1) : digits.substr(start);
}

bool is_less(std::string_view a, std::string_view b) {
  a = significant(a);
  b = significant(b);
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_padded(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(to_code_points(text)) {}

  std::vector<SegmentPattern> segments() {
    std::vector<SegmentPattern> out;
    for (;;) {
      out.push_back(segment());
      if (at_end()) return out;
      ++at_;  // the dot
    }
  }

 private:
  bool at_end() const noexcept { return at_ == text_.size(); }
  bool next_is(std::size_t ahead, char32_t c) const noexcept {
    return ahead < text_.size() - at_ && text_[at_ + ahead] == c;
  }

  std::string show(std::size_t from, std::size_t to) const {
    std::string out;
    for (std::size_t i = from; i < to; ++i) append_code_point(out, text_[i]);
    return out;
  }

  SegmentPattern segment() {
    const std::size_t start = at_;
    SegmentPattern out;
    if (next_is(0, U'*') && next_is(1, U'*') && (at_ + 2 == text_.size() || next_is(2, U'.'))) {
      out.any_depth = true;
      at_ += 2;
    } else {
      out.glob = glob(0);
    }
    out.text = show(start, at_);
    return out;
  }

  /// `depth` is the number of braces around it.
  Glob glob(std::size_t depth) {
    Glob out;
    while (!at_end()) {
      const char32_t c = text_[at_];
      if (depth == 0 && c == U'.') break;
      if (depth > 0 && (c == U',' || c == U'}')) break;
      out.push_back(node(c, depth));
    }
    return out;
  }

  GlobNode node(char32_t c, std::size_t depth) {
    switch (c) {
      case U'*':
        return any_run();
      case U'?':
        return plain(GlobNode::Kind::any_one, 0);
      case U'\\':
        return escape();
      case U'{':
        return brace(depth + 1);
      case U'}':
        fail({at_, "a closing brace that nothing opened", quote("}"), "braces in pairs",
              "write \\} for the character itself"});
      case U'.':
        dot_inside_braces();
      default:
        return plain(GlobNode::Kind::literal, c);
    }
  }

  GlobNode plain(GlobNode::Kind kind, char32_t c) {
    ++at_;
    GlobNode out;
    out.kind = kind;
    out.code_point = c;
    return out;
  }

  GlobNode any_run() {
    if (next_is(1, U'*'))
      fail({at_, "`**` with something beside it in its segment", quote("**"),
            "`**` as a segment of its own",
            "put dots around ** for any number of segments, or write one * for part of a segment"});
    return plain(GlobNode::Kind::any_run, 0);
  }

  GlobNode escape() {
    if (at_ + 1 == text_.size())
      fail({at_, "a backslash at the end escapes nothing", quote("\\"),
            "a character after the backslash", "write \\\\ for a backslash"});
    if (next_is(1, U'.'))
      fail({at_, "an escaped dot", quote("\\."), "a character other than a dot",
            "a dot always separates segments: write it without the backslash"});
    ++at_;
    return plain(GlobNode::Kind::literal, text_[at_]);
  }

  [[noreturn]] void dot_inside_braces() const {
    std::string hint = "braces choose within one segment: write one policy for each path";
    if (next_is(1, U'.')) hint = "give a range braces of its own, as in {{0..3},9}";
    fail({at_, "a dot inside braces", quote("."), "no dots, or a range {FIRST..LAST} alone",
          std::move(hint)});
  }

  /// Where the brace that opens at `at_` closes.
  std::size_t closing_brace() const {
    std::size_t depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      if (text_[i] == U'\\') {
        ++i;
      } else if (text_[i] == U'{') {
        ++depth;
      } else if (text_[i] == U'}' && --depth == 0) {
        return i;
      }
    }
    fail({at_, "a brace that is never closed", quote(show(at_, text_.size()), 40),
          "a closing brace", "write \\{ for the character itself"});
  }

  GlobNode brace(std::size_t depth) {
    if (depth > kMaxBraceDepth)
      fail({at_, "braces nested too deeply", fmt::format("{} levels", depth),
            fmt::format("at most {}", kMaxBraceDepth), "write the alternatives out in one brace",
            ErrorCode::limit});
    const std::size_t close = closing_brace();
    const std::u32string_view inner = std::u32string_view(text_).substr(at_ + 1, close - at_ - 1);
    if (inner.empty())
      fail({at_, "empty braces", quote("{}"), "alternatives {a,b} or a range {0..3}",
            "write \\{\\} for the characters themselves, or * for any segment"});
    if (inner.find(U"..") != std::u32string_view::npos &&
        inner.find_first_of(U",{}\\") == std::u32string_view::npos)
      return range(inner, close);
    GlobNode out;
    out.kind = GlobNode::Kind::choice;
    do {
      ++at_;  // the opening brace or a comma
      out.alternatives.push_back(glob(depth));
    } while (text_[at_] == U',');
    ++at_;  // the closing brace, which is known to be there
    return out;
  }

  GlobNode range(std::u32string_view inner, std::size_t close) {
    const std::string shown = quote(show(at_, close + 1), 40);
    const std::optional<Bounds> bounds = split_bounds(inner);
    if (!bounds)
      fail({at_, "a range that does not count integers", shown,
            "{FIRST..LAST} with decimal digits only", "list other values: {a,b,c}"});
    if (is_less(bounds->last, bounds->first))
      fail({at_, "a range that counts down", shown, "the smaller number first",
            fmt::format("write {{{}..{}}}", shorten(bounds->last), shorten(bounds->first))});
    const bool padded = is_padded(bounds->first) || is_padded(bounds->last);
    if (padded && bounds->first.size() != bounds->last.size())
      fail({at_, "a range of zero-padded numbers of different widths", shown,
            "both bounds with the same number of digits", padding_hint(*bounds)});
    GlobNode out;
    out.kind = GlobNode::Kind::range;
    out.range = counted(*bounds, shown);
    if (padded) out.range.width = bounds->first.size();
    at_ = close + 1;
    return out;
  }

  NumberRange counted(const Bounds& bounds, const std::string& shown) const {
    constexpr std::size_t kSafeDigits = 18;  // fit 64 bits
    NumberRange out;
    const bool readable = std::max(bounds.first.size(), bounds.last.size()) <= kSafeDigits;
    if (readable) {
      out.first = std::stoull(bounds.first);
      out.last = std::stoull(bounds.last);
    }
    if (!readable || out.last - out.first >= kMaxRangeNumbers)
      fail({at_, "a range with too many numbers", shown,
            fmt::format("at most {} numbers of at most {} digits", kMaxRangeNumbers, kSafeDigits),
            "use * for any part of a segment", ErrorCode::limit});
    return out;
  }

  static std::string shorten(const std::string& digits) {
    return digits.size() <= 20 ? digits : digits.substr(0, 20) + "…";
  }

  static std::string padding_hint(const Bounds& bounds) {
    const std::size_t width = std::max(bounds.first.size(), bounds.last.size());
    if (width > 20) return {};
    const auto pad = [width](const std::string& digits) {
      return std::string(width - digits.size(), '0') + digits;
    };
    return fmt::format("write {{{}..{}}} for padded numbers, {{{}..{}}} for plain ones",
                       pad(bounds.first), pad(bounds.last), significant(bounds.first),
                       significant(bounds.last));
  }

  std::u32string text_;
  std::size_t at_ = 0;
};

void check_length(std::string_view text) {
  if (text.empty())
    fail({0, "an empty pattern", quote(text), "at least one segment",
          "write ** to cover every path"});
  // A code point has at most four bytes, so this bounds the work of counting them.
  const bool far_too_long = text.size() > 4 * kMaxPatternLength;
  const std::size_t length = far_too_long ? text.size() : to_code_points(text).size();
  if (length > kMaxPatternLength)
    fail({0, "a pattern that is too long",
          fmt::format("{} {}", length, far_too_long ? "bytes" : "characters"),
          fmt::format("at most {} characters", kMaxPatternLength),
          "cover more with * or **, or write several policies", ErrorCode::limit});
}

}  // namespace

std::vector<SegmentPattern> parse_pattern(std::string_view text) {
  check_length(text);
  return Parser(text).segments();
}

bool is_literal(const Glob& glob) {
  return std::all_of(glob.begin(), glob.end(),
                     [](const GlobNode& node) { return node.kind == GlobNode::Kind::literal; });
}

std::string literal_text(const Glob& glob) {
  std::string out;
  for (const GlobNode& node : glob) append_code_point(out, node.code_point);
  return out;
}

}  // namespace synps::pattern
