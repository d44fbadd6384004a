#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace synps {

enum class Scope : std::uint8_t { any, constant, input, output, internal };
enum class Lifetime : std::uint8_t { any, immutable, invocation, session };
enum class Update : std::uint8_t { none, whole, region };

/// One entry of a policy: which values it claims and how they are stored.
struct Scheme {
  Scope scope = Scope::constant;
  Lifetime lifetime = Lifetime::immutable;
  Update update = Update::none;
  std::string format{};      ///< codec as `package:export`, or "keep"
  bool is_volatile = false;  ///< clean host pages may be discarded after an invocation

  bool operator==(const Scheme&) const = default;
};

std::string_view to_string(Scope scope) noexcept;
std::string_view to_string(Lifetime lifetime) noexcept;
std::string_view to_string(Update update) noexcept;
std::optional<Scope> scope_from(std::string_view name) noexcept;
std::optional<Lifetime> lifetime_from(std::string_view name) noexcept;
std::optional<Update> update_from(std::string_view name) noexcept;

}  // namespace synps
