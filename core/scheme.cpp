#include "synps/scheme.h"

#include "name_table.h"

namespace synps {
namespace {

constexpr NameTable<Scope, 5> kScopes{{{{Scope::any, "any"},
                                        {Scope::constant, "constant"},
                                        {Scope::input, "input"},
                                        {Scope::output, "output"},
                                        {Scope::internal, "internal"}}}};
constexpr NameTable<Lifetime, 4> kLifetimes{{{{Lifetime::any, "any"},
                                              {Lifetime::immutable, "immutable"},
                                              {Lifetime::invocation, "invocation"},
                                              {Lifetime::session, "session"}}}};
constexpr NameTable<Update, 3> kUpdates{
    {{{Update::none, "none"}, {Update::whole, "whole"}, {Update::region, "region"}}}};

}  // namespace

std::string_view to_string(Scope scope) noexcept {
  return kScopes.name(scope);
}
std::string_view to_string(Lifetime lifetime) noexcept {
  return kLifetimes.name(lifetime);
}
std::string_view to_string(Update update) noexcept {
  return kUpdates.name(update);
}
std::optional<Scope> scope_from(std::string_view name) noexcept {
  return kScopes.value(name);
}
std::optional<Lifetime> lifetime_from(std::string_view name) noexcept {
  return kLifetimes.value(name);
}
std::optional<Update> update_from(std::string_view name) noexcept {
  return kUpdates.value(name);
}

}  // namespace synps
