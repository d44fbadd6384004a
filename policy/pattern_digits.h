#pragma once

#include <cstdint>

#include "pattern_syntax.h"

namespace synps::pattern {

/// Where add_number_range() puts its states; each call adds one and returns it.
class DigitStates {
 public:
  /// A digit from `first` to `last`, then `next`.
  virtual std::uint32_t digits(char first, char last, std::uint32_t next) = 0;
  /// Both ways on.
  virtual std::uint32_t split(std::uint32_t one, std::uint32_t other) = 0;

 protected:
  ~DigitStates() = default;
};

/// The numbers of `range` written in decimal, then `next`; returns the state to enter by. Takes a
/// few states for each digit of the bounds, however many numbers lie between them.
std::uint32_t add_number_range(DigitStates& states, const NumberRange& range, std::uint32_t next);

}  // namespace synps::pattern
