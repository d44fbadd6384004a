#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace synps {

/// How the numbers of a companion scale lie over the weight that they scale.
enum class ScaleForm : std::uint8_t {
  tensor,  ///< one for all elements
  row,     ///< one a row
  block,   ///< one a block of 128 rows and 128 columns of each matrix
};

/// "tensor", "row", "block".
std::string_view to_string(ScaleForm form) noexcept;
std::optional<ScaleForm> scale_form_from(std::string_view name) noexcept;

/// Rows and columns of a scale's block.
inline constexpr std::uint64_t kScaleBlock = 128;

/// What an artifact says of the scale that the checkpoint has for a weight.
struct StoredScale {
  std::string path{};  ///< of the scale in the checkpoint
  ScaleForm form = ScaleForm::tensor;
  /// The stored values are multiplied by it, and the scale is not in the artifact. Else it is, as a
  /// weight of its own, and the stored values are without it.
  bool folded = false;

  bool operator==(const StoredScale&) const = default;
};

}  // namespace synps
