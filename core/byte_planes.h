#pragma once

#include <cstddef>
#include <span>

namespace synps {

// Elements of floats have bytes of very different statistics: exponents repeat, fractions look
// random. Sorted by their place in the element they compress far better.

/// Byte p of element i of `in` goes to place p × elements + i of `out`, which is as long. `in`
/// holds whole elements of `width` bytes: 2, 4 or 8.
void split_planes(std::span<const std::byte> in, unsigned width, std::span<std::byte> out) noexcept;

/// The reverse.
void join_planes(std::span<const std::byte> in, unsigned width, std::span<std::byte> out) noexcept;

}  // namespace synps
