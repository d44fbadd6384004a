#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace synps {

/// The names of an enumeration's values, both ways. Values that are stored keep their names for
/// ever; the numbers behind them are internal.
template <typename Value, std::size_t kSize>
struct NameTable {
  std::array<std::pair<Value, std::string_view>, kSize> rows;

  constexpr std::string_view name(Value value) const noexcept {
    for (const auto& [known, name] : rows)
      if (known == value) return name;
    return "?";
  }
  constexpr std::optional<Value> value(std::string_view name) const noexcept {
    for (const auto& [known, known_name] : rows)
      if (known_name == name) return known;
    return std::nullopt;
  }
};

}  // namespace synps
