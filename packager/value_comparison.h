#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "error_sums.h"
#include "synps/shape.h"

namespace synps {

/// The first place where two weights differ, for messages.
struct FirstDifference {
  std::string where;      ///< "byte 5", "element 7 [1, 3]"
  std::string value;      ///< there
  std::string reference;  ///< there
};

/// Compares the values of one weight, piece by piece, from the first to the last.
class ValueComparison {
 public:
  /// Of f32 or f64 numbers each.
  template <typename A, typename B>
  void add(std::span<A> reference, std::span<B> values) noexcept {
    for (std::size_t i = 0; i < reference.size(); ++i) {
      sums_.add(reference[i], values[i]);
      if (!differs_ && !same(reference[i], values[i])) {
        differs_ = true;
        index_ = count_ + i;
        reference_ = reference[i];
        value_ = values[i];
      }
    }
    count_ += reference.size();
  }

  const ErrorSums& sums() const noexcept { return sums_; }
  /// The first value that is not the reference's bit for bit; but any NaN is any other, for
  /// decoding and encoding may make a NaN quiet, and drop its payload.
  std::optional<FirstDifference> first(const Shape& shape) const;

 private:
  template <typename A, typename B>
  static bool same(A a, B b) noexcept {
    if (std::isnan(a) && std::isnan(b)) return true;
    if constexpr (sizeof(A) == sizeof(float) && sizeof(B) == sizeof(float))
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    else
      return std::bit_cast<std::uint64_t>(static_cast<double>(a)) ==
             std::bit_cast<std::uint64_t>(static_cast<double>(b));
  }

  ErrorSums sums_;
  std::uint64_t count_ = 0;
  bool differs_ = false;
  std::uint64_t index_ = 0;
  double reference_ = 0;
  double value_ = 0;
};

/// The first byte that differs; `offset` is that of the first one in the weight.
std::optional<FirstDifference> first_difference(std::span<const std::byte> reference,
                                                std::span<const std::byte> bytes,
                                                std::uint64_t offset);

}  // namespace synps
