#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dense_codec.h"

namespace synps {

/// Which codes of an 8-bit float are no numbers.
enum class Float8Specials : std::uint8_t {
  ieee,           ///< the highest exponent: infinities and NaN
  top_nan,        ///< all ones but the sign: NaN; no infinities
  negative_zero,  ///< the code of -0: NaN; no infinities, and no -0
};

/// 2^exponent, for what f32 holds as a normal number.
constexpr float power_of_two(int exponent) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// The value of a code: sign, exponent and fraction from the top. A NaN has the code's sign and
/// fraction, and the quiet bit; that of negative_zero is 0x7FC00000.
template <int kFractionBits, int kBias, Float8Specials kSpecials>
constexpr float float8_value(std::uint8_t code) noexcept {
  constexpr std::uint32_t kFractionMask = (1u << kFractionBits) - 1;
  constexpr std::uint32_t kTop = 0x7Fu >> kFractionBits;
  const std::uint32_t sign = (code & 0x80u) << 24;
  const std::uint32_t exponent = (code & 0x7Fu) >> kFractionBits;
  const std::uint32_t fraction = code & kFractionMask;
  if (kSpecials == Float8Specials::negative_zero && code == 0x80)
    return std::bit_cast<float>(0x7FC00000u);
  const bool special =
      exponent == kTop && (kSpecials == Float8Specials::ieee ||
                           (kSpecials == Float8Specials::top_nan && fraction == kFractionMask));
  if (special) {
    const std::uint32_t quiet = fraction == 0 ? 0 : 1u << 22;
    return std::bit_cast<float>(sign | 0x7F800000u | quiet | fraction << (23 - kFractionBits));
  }
  const float magnitude =
      exponent == 0 ? static_cast<float>(fraction) * power_of_two(1 - kBias - kFractionBits)
                    : std::bit_cast<float>((exponent + 127u - kBias) << 23 |
                                           fraction << (23 - kFractionBits));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

/// The values of all codes.
template <int kFractionBits, int kBias, Float8Specials kSpecials>
constexpr std::array<float, 256> float8_values() noexcept {
  std::array<float, 256> values{};
  for (std::size_t code = 0; code < values.size(); ++code)
    values[code] = float8_value<kFractionBits, kBias, kSpecials>(static_cast<std::uint8_t>(code));
  return values;
}

/// A dense codec of 8-bit floats that are only read. `Facts` gives kFractionBits, kBias, kSpecials,
/// kDType, kName, kSummary, and `exact`: the dtypes whose every value it has.
template <typename Facts>
struct Float8Format {
  using Bits = std::uint8_t;
  static constexpr std::array<float, 256> kValues =
      float8_values<Facts::kFractionBits, Facts::kBias, Facts::kSpecials>();

  static CodecInfo info() {
    CodecInfo info;
    info.package = Facts::kName;
    info.name = Facts::kName;
    info.dense = true;
    info.encodes = false;
    info.bits_per_weight = 8;
    info.summary = Facts::kSummary;
    info.error_bound = "exact: f32, f16 and bf16 hold every value";
    info.exact = Facts::exact();
    info.dense_dtype = Facts::kDType;
    return info;
  }
  static float decode(Bits code) noexcept { return kValues[code]; }
  static std::size_t fast_decode(const std::byte* in, std::size_t count, float* out,
                                 simd::Stores) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = kValues[std::to_integer<std::size_t>(in[i])];
    return count;
  }
};

}  // namespace synps
