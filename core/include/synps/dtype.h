#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace synps {

/// The element types of safetensors (the format's Rust reference, version 0.7), under its names.
/// Values are internal and may change; the names are what is stored.
enum class DType : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

/// Every DType, in declaration order.
std::span<const DType> all_dtypes() noexcept;

/// The safetensors name: "F32", "BF16", "F8_E4M3", …
std::string_view dtype_name(DType dtype) noexcept;

/// The dtype of that exact safetensors name, or nothing.
std::optional<DType> dtype_from_name(std::string_view name) noexcept;

/// Bits an element takes: 4, 6, 8, 16, 32 or 64.
unsigned dtype_bits(DType dtype) noexcept;

/// Real-valued floating point (f4 to f64): such weights need a scheme. Integers, booleans and
/// complex numbers do not.
bool dtype_is_float(DType dtype) noexcept;

/// The name under which a policy refers to this source encoding: the dtype's name in lower case
/// ("bf16", "f8_e4m3", "i64").
std::string_view encoding_name(DType dtype) noexcept;

}  // namespace synps
