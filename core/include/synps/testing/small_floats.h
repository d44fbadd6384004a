#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "synps/dtype.h"

namespace synps::testing {

/// A float format in terms of its fields, for values worked out from the definition.
struct FloatFormat {
  enum class Specials : std::uint8_t {
    none,      ///< every pattern is a number (OCP FP4, FP6)
    ieee,      ///< highest exponent: infinities and NaN
    top_nan,   ///< all ones but the sign: NaN (OCP E4M3)
    neg_zero,  ///< the pattern of -0: NaN (the "fnuz" formats)
  };
  int exponent_bits = 0;
  int fraction_bits = 0;
  int bias = 0;
  Specials specials = Specials::ieee;

  double value(std::uint32_t bits) const {
    const std::uint32_t fraction_mask = (1u << fraction_bits) - 1;
    const std::uint32_t exponent_mask = (1u << exponent_bits) - 1;
    const std::uint32_t fraction = bits & fraction_mask;
    const std::uint32_t exponent = (bits >> fraction_bits) & exponent_mask;
    const bool negative = ((bits >> (fraction_bits + exponent_bits)) & 1) != 0;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (specials == Specials::neg_zero && negative && exponent == 0 && fraction == 0) return nan;
    if (specials == Specials::top_nan && exponent == exponent_mask && fraction == fraction_mask)
      return nan;
    double magnitude = 0;
    if (specials == Specials::ieee && exponent == exponent_mask)
      magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : nan;
    else if (exponent == 0)
      magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
    else
      magnitude = std::ldexp(fraction + fraction_mask + 1,
                             static_cast<int>(exponent) - bias - fraction_bits);
    return negative ? -magnitude : magnitude;
  }
};

/// Every value of a float dtype of at most 16 bits; for f32 a large sample, ends included; nothing
/// for f64, which f32 does not hold. Sources: IEEE 754; OCP 8-bit Floating Point (OFP8) 1.0; OCP
/// Microscaling Formats (MX) 1.0; arXiv 2206.02915 for the fnuz formats.
inline std::vector<float> values_of(DType dtype) {
  using Specials = FloatFormat::Specials;
  FloatFormat format;
  switch (dtype) {
    case DType::f4:
      format = {2, 1, 1, Specials::none};
      break;
    case DType::f6_e2m3:
      format = {2, 3, 1, Specials::none};
      break;
    case DType::f6_e3m2:
      format = {3, 2, 3, Specials::none};
      break;
    case DType::f8_e5m2:
      format = {5, 2, 15, Specials::ieee};
      break;
    case DType::f8_e4m3:
      format = {4, 3, 7, Specials::top_nan};
      break;
    case DType::f8_e4m3fnuz:
      format = {4, 3, 8, Specials::neg_zero};
      break;
    case DType::f8_e5m2fnuz:
      format = {5, 2, 16, Specials::neg_zero};
      break;
    case DType::f16:
      format = {5, 10, 15, Specials::ieee};
      break;
    case DType::bf16:
      format = {8, 7, 127, Specials::ieee};
      break;
    default:
      break;
  }
  std::vector<float> values;
  if (dtype == DType::f8_e8m0) {
    for (int exponent = -127; exponent <= 127; ++exponent)
      values.push_back(std::ldexp(1.0f, exponent));
    values.push_back(std::numeric_limits<float>::quiet_NaN());
  } else if (dtype == DType::f32) {
    std::mt19937 random(32);
    for (const std::uint32_t bits : {0u, 1u, 0x7FFFFFu, 0x800000u, 0x7F7FFFFFu, 0x7F800000u})
      for (const std::uint32_t sign : {0u, 0x80000000u})
        values.push_back(std::bit_cast<float>(bits | sign));
    for (int i = 0; i < 100000; ++i)
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  } else if (format.exponent_bits != 0) {
    const std::uint32_t patterns = 2u << (format.exponent_bits + format.fraction_bits);
    for (std::uint32_t bits = 0; bits < patterns; ++bits)
      values.push_back(static_cast<float>(format.value(bits)));
  }
  return values;
}

/// Equal as values, zeros by sign; any NaN equals any NaN.
inline bool same_value(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

}  // namespace synps::testing
