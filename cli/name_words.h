#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace synps::cli {

/// One segment of a path, read as a person reads it.
struct NameSegment {
  std::string text;                ///< in lower case (ASCII letters only)
  std::vector<std::string> words;  ///< `LayerNorm1_out` has layer, norm, 1, out
  bool number = false;             ///< digits alone: the index of a repeated part
};

/// The words of a tensor's name, and which of them say what the tensor is: of
/// `h.0.mlp.c_fc.weight` the module is `c_fc`, of `classifier.2.bias` it is `classifier`.
class NameWords {
 public:
  explicit NameWords(std::string_view path);

  const std::vector<NameSegment>& segments() const noexcept { return segments_; }
  /// The last segment.
  const NameSegment& leaf() const noexcept { return segments_.back(); }
  /// The segment that names the layer: the leaf where that is no plain `weight`, `bias` or the
  /// like, else the last one before it that is no number.
  const NameSegment& module() const noexcept { return segments_[module_]; }
  /// Whether the module is one of several, by a number in front of it.
  bool is_repeated() const noexcept;

  bool has(std::string_view word) const noexcept;         ///< in any segment
  bool module_has(std::string_view word) const noexcept;  ///< in the module or the leaf

 private:
  std::vector<NameSegment> segments_;
  std::size_t module_ = 0;
};

bool has_word(const NameSegment& segment, std::string_view word) noexcept;

}  // namespace synps::cli
