#include "value_comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "value_problems.h"

namespace synps {

std::optional<FirstDifference> ValueComparison::first(const Shape& shape) const {
  if (!differs_) return std::nullopt;
  return FirstDifference{"element " + element_text(shape, index_), value_text(value_),
                         value_text(reference_)};
}

std::optional<FirstDifference> first_difference(std::span<const std::byte> reference,
                                                std::span<const std::byte> bytes,
                                                std::uint64_t offset) {
  const auto [a, b] = std::mismatch(reference.begin(), reference.end(), bytes.begin());
  if (a == reference.end()) return std::nullopt;
  const auto text = [](std::byte byte) {
    return fmt::format("0x{:02x}", std::to_integer<unsigned>(byte));
  };
  return FirstDifference{
      fmt::format("byte {}", offset + static_cast<std::uint64_t>(a - reference.begin())), text(*b),
      text(*a)};
}

}  // namespace synps
