#pragma once

#include <cstdint>
#include <optional>

namespace synps {

/// a + b, or nothing when it does not fit 64 bits.
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a * b, or nothing when it does not fit 64 bits.
constexpr std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The same, but the largest 64-bit number for what does not fit.
constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
  return checked_add(a, b).value_or(~std::uint64_t{0});
}
constexpr std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) noexcept {
  return checked_mul(a, b).value_or(~std::uint64_t{0});
}

/// Whether [offset, offset + size) lies inside [0, length), with no sum that could wrap.
constexpr bool range_fits(std::uint64_t offset, std::uint64_t size, std::uint64_t length) noexcept {
  return offset <= length && size <= length - offset;
}

/// The smallest multiple of `unit` that is not below `value`, or nothing when it does not fit.
constexpr std::optional<std::uint64_t> checked_round_up(std::uint64_t value,
                                                        std::uint64_t unit) noexcept {
  const std::uint64_t rest = value % unit;
  return rest == 0 ? std::optional<std::uint64_t>(value) : checked_add(value, unit - rest);
}

}  // namespace synps
