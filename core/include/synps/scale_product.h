#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "synps/codec.h"
#include "synps/companion_scale.h"
#include "synps/shape.h"

namespace synps {

/// Blocks of a block scale over so many rows or columns.
constexpr std::uint64_t scale_blocks(std::uint64_t extent) noexcept {
  return extent / kScaleBlock + (extent % kScaleBlock != 0 ? 1 : 0);
}

/// How a scale of this shape lies over a weight of that one; nothing where it does not. Where a
/// shape fits two forms they mean the same, for then there is one number.
std::optional<ScaleForm> scale_form(const Shape& weight, const Shape& scale);

/// Numbers [first, first + count) of a scale, in flat order.
struct ScaleRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The numbers that a piece of a weight needs. The piece has elements.
ScaleRange scale_range(const Shape& weight, ScaleForm form, const Piece& piece) noexcept;

/// `values` are the decoded codes of the piece, and `numbers` what scale_range() says. Each becomes
/// value × scale, one multiplication of f32 numbers, rounded to nearest even. Products that became
/// infinite or zero go into `report`.
void multiply_by_scale(const Shape& weight, ScaleForm form, const Piece& piece,
                       std::span<const float> numbers, std::span<float> values,
                       ValueReport& report);

/// The first number that no weight can be multiplied by: not finite, or zero.
std::optional<std::uint64_t> unusable_number(std::span<const float> numbers) noexcept;

}  // namespace synps
