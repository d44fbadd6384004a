#include "name_words.h"

#include <algorithm>
#include <array>

namespace synps::cli {
namespace {

/// Longer names are cut, and of deeper ones the middle is left out: what a name says about a weight
/// stands at its ends, and names may be anything.
constexpr std::size_t kMaxSegmentBytes = 128;
constexpr std::size_t kMaxSegments = 32;

constexpr std::array<std::string_view, 6> kPlainLeaves{"weight", "weights", "bias",
                                                       "kernel", "w",       "b"};

enum class Kind { lower, upper, digit, other };

Kind kind_of(char c) noexcept {
  if (c >= 'a' && c <= 'z') return Kind::lower;
  if (c >= 'A' && c <= 'Z') return Kind::upper;
  if (c >= '0' && c <= '9') return Kind::digit;
  return Kind::other;
}

char lower(char c) noexcept {
  return kind_of(c) == Kind::upper ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether a word ends between two neighbours: `selfAttn`, `conv1`, `1d`.
bool word_ends(Kind before, Kind after) noexcept {
  if (before == after) return false;
  return !(before == Kind::upper && after == Kind::lower);
}

NameSegment read_segment(std::string_view text) {
  text = text.substr(0, kMaxSegmentBytes);
  NameSegment out;
  out.number = !text.empty();
  Kind before = Kind::other;
  for (const char c : text) {
    const Kind kind = kind_of(c);
    out.text += lower(c);
    out.number = out.number && kind == Kind::digit;
    if (kind == Kind::other) {
      before = kind;
      continue;
    }
    if (word_ends(before, kind)) out.words.emplace_back();
    out.words.back() += lower(c);
    before = kind;
  }
  return out;
}

/// `weight`, and `weight_g`, `bias_hh_l0`: a parameter of the layer that is named before it.
bool is_plain(const NameSegment& leaf) noexcept {
  return !leaf.words.empty() && std::find(kPlainLeaves.begin(), kPlainLeaves.end(),
                                          leaf.words.front()) != kPlainLeaves.end();
}

}  // namespace

NameWords::NameWords(std::string_view path) {
  std::vector<std::string_view> texts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = path.find('.', begin);
    texts.push_back(path.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool near_an_end = i < kMaxSegments / 2 || texts.size() - i <= kMaxSegments / 2;
    if (near_an_end) segments_.push_back(read_segment(texts[i]));
  }
  module_ = segments_.size() - 1;
  if (!is_plain(leaf())) return;
  for (std::size_t i = module_; i-- > 0;) {
    if (segments_[i].number) continue;
    module_ = i;
    return;
  }
}

bool NameWords::is_repeated() const noexcept {
  return std::any_of(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(module_),
                     [](const NameSegment& segment) { return segment.number; });
}

bool NameWords::has(std::string_view word) const noexcept {
  return std::any_of(segments_.begin(), segments_.end(),
                     [&](const NameSegment& segment) { return has_word(segment, word); });
}

bool NameWords::module_has(std::string_view word) const noexcept {
  return has_word(module(), word) || has_word(leaf(), word);
}

bool has_word(const NameSegment& segment, std::string_view word) noexcept {
  return std::find(segment.words.begin(), segment.words.end(), word) != segment.words.end();
}

}  // namespace synps::cli
