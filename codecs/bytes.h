#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace synps {

static_assert(std::endian::native == std::endian::little,
              "stored bytes are little-endian and are read with memcpy");

/// The value stored at `from`, which needs no alignment.
template <typename Value>
Value load(const std::byte* from) noexcept {
  static_assert(std::is_trivially_copyable_v<Value>);
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Stores `value` at `to`, which needs no alignment.
template <typename Value>
void store(std::byte* to, Value value) noexcept {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace synps
