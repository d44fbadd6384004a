#include "pattern_digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace synps::pattern {
namespace {

/// Numbers of one width, between two bounds of that width. A number equals a bound in its first
/// digits up to where it leaves it; from there on its digits are free.
class RangeBuilder {
 public:
  RangeBuilder(DigitStates& states, std::uint32_t next) : states_(states), free_{next} {}

  std::uint32_t between(const std::string& low, const std::string& high) {
    low_ = low;
    high_ = high;
    return both(0);
  }

 private:
  std::size_t left(std::size_t at) const noexcept { return low_.size() - at; }
  bool all(const std::string& bound, std::size_t at, char digit) const {
    return bound.find_first_not_of(digit, at) == std::string::npos;
  }

  /// `count` digits of any kind. Shared by all widths: they end in the same place.
  std::uint32_t free(std::size_t count) {
    while (free_.size() <= count) free_.push_back(states_.digits('0', '9', free_.back()));
    return free_[count];
  }

  /// Digits from `at` on, all before equal to both bounds.
  std::uint32_t both(std::size_t at) {
    if (all(low_, at, '0') && all(high_, at, '9')) return free(left(at));
    const char low = low_[at];
    const char high = high_[at];
    if (low == high) return states_.digits(low, high, both(at + 1));
    const bool low_is_free = all(low_, at + 1, '0');
    const bool high_is_free = all(high_, at + 1, '9');
    std::optional<std::uint32_t> entry;
    if (!low_is_free) entry = states_.digits(low, low, above_low(at + 1));
    if (!high_is_free) join(entry, states_.digits(high, high, below_high(at + 1)));
    const char first = static_cast<char>(low_is_free ? low : low + 1);
    const char last = static_cast<char>(high_is_free ? high : high - 1);
    if (first <= last) join(entry, states_.digits(first, last, free(left(at + 1))));
    return *entry;
  }

  std::uint32_t above_low(std::size_t at) {
    if (all(low_, at, '0')) return free(left(at));
    const char low = low_[at];
    const bool rest_is_free = all(low_, at + 1, '0');
    std::optional<std::uint32_t> entry;
    if (!rest_is_free) entry = states_.digits(low, low, above_low(at + 1));
    const char first = static_cast<char>(rest_is_free ? low : low + 1);
    if (first <= '9') join(entry, states_.digits(first, '9', free(left(at + 1))));
    return *entry;
  }

  std::uint32_t below_high(std::size_t at) {
    if (all(high_, at, '9')) return free(left(at));
    const char high = high_[at];
    const bool rest_is_free = all(high_, at + 1, '9');
    std::optional<std::uint32_t> entry;
    if (!rest_is_free) entry = states_.digits(high, high, below_high(at + 1));
    const char last = static_cast<char>(rest_is_free ? high : high - 1);
    if (last >= '0') join(entry, states_.digits('0', last, free(left(at + 1))));
    return *entry;
  }

  void join(std::optional<std::uint32_t>& entry, std::uint32_t other) {
    entry = entry ? states_.split(*entry, other) : other;
  }

  DigitStates& states_;
  std::vector<std::uint32_t> free_;  ///< by the number of digits
  std::string low_;
  std::string high_;
};

}  // namespace

std::uint32_t add_number_range(DigitStates& states, const NumberRange& range, std::uint32_t next) {
  RangeBuilder builder(states, next);
  if (range.width > 0)
    return builder.between(fmt::format("{:0{}}", range.first, range.width),
                           fmt::format("{:0{}}", range.last, range.width));
  const std::string first = fmt::format("{}", range.first);
  const std::string last = fmt::format("{}", range.last);
  std::optional<std::uint32_t> entry;
  for (std::size_t width = first.size(); width <= last.size(); ++width) {
    const std::string low = width == first.size() ? first : "1" + std::string(width - 1, '0');
    const std::string high = width == last.size() ? last : std::string(width, '9');
    const std::uint32_t block = builder.between(low, high);
    entry = entry ? states.split(*entry, block) : block;
  }
  return *entry;
}

}  // namespace synps::pattern
