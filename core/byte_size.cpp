#include "synps/byte_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "synps/checked.h"

namespace synps {
namespace {

struct Unit {
  std::string_view name;  // in lower case
  std::uint64_t bytes;
};

constexpr Unit kUnits[] = {
    {"", 1},
    {"b", 1},
    {"kib", std::uint64_t{1} << 10},
    {"mib", std::uint64_t{1} << 20},
    {"gib", std::uint64_t{1} << 30},
    {"tib", std::uint64_t{1} << 40},
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"tb", 1'000'000'000'000},
};

bool same_name(std::string_view text, std::string_view lower) noexcept {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

}  // namespace

std::optional<std::uint64_t> parse_byte_size(std::string_view text) noexcept {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return std::nullopt;
  std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  if (name.size() > 1 && name.front() == ' ') name.remove_prefix(1);
  for (const Unit& unit : kUnits)
    if (same_name(name, unit.name)) return checked_mul(count, unit.bytes);
  return std::nullopt;
}

}  // namespace synps
