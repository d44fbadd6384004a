#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "synps/checked.h"
#include "synps/load_memory.h"
#include "synps/memory_plan.h"

namespace synps {
namespace {

using Kind = Suggestion::Kind;

/// What one weight could do without, and who asked for it.
struct Saving {
  Kind kind = Kind::map;
  bool asked = false;
  std::uint64_t bytes = 0;
};

std::uint64_t less(std::uint64_t now, std::uint64_t then) noexcept {
  return now > then ? now - then : 0;
}

/// The same weight with one thing undone. Where nothing is left to convert, it is where it would be
/// without conversions.
FormDecision without(const PlannedLoad& load, Kind kind) {
  FormDecision decision = load.decision;
  if (kind == Kind::undo_dequantize) decision.dequantizes = false;
  if (kind == Kind::undo_relayout) decision.relays = false;
  if (kind == Kind::undo_inflate) decision.inflates = false;
  if (kind == Kind::map) decision.own_residency = Residency::mapped;
  if (!decision.converts()) decision.form.residency = decision.own_residency;
  return decision;
}

bool stores_f32(const StoredWeight& weight) noexcept {
  return weight.components.size() == 1 && weight.components[0].component.name == "values" &&
         weight.components[0].component.dtype == DType::f32;
}

Saving saving_of(const PlannedLoad& load, Kind kind, bool asked) {
  const std::uint64_t then = memory_of(*load.weight, without(load, kind)).resident;
  return {kind, asked, less(load.memory.resident, then)};
}

/// Everything that would help for one weight, each on its own.
std::vector<Saving> savings_of(const PlannedLoad& load) {
  const FormDecision& decision = load.decision;
  if (decision.form.residency == Residency::mapped) return {};
  std::vector<Saving> found;
  if (decision.dequantizes)
    found.push_back(
        saving_of(load, Kind::undo_dequantize, decision.reason == FormReason::asked_dequantized));
  if (decision.relays)
    found.push_back(
        saving_of(load, Kind::undo_relayout, decision.reason == FormReason::asked_kernel_feed));
  if (decision.inflates) found.push_back(saving_of(load, Kind::undo_inflate, false));
  if (!decision.converts()) {
    found.push_back(saving_of(load, Kind::map, decision.asked_residency));
    // Half the bytes, in a type that every reader knows.
    if (stores_f32(*load.weight))
      found.push_back({Kind::smaller_codec, true, load.memory.resident / 2});
  }
  return found;
}

std::string_view cure(Kind kind, bool asked) noexcept {
  switch (kind) {
    case Kind::undo_dequantize:
      return asked ? "do not ask for f32 values"
                   : "keep the encoding with form.order = \"as_stored\", or pack with a "
                     "format that the target's kernels read";
    case Kind::undo_relayout:
      return asked ? "leave form.order to \"auto\", or pack for the target (--target)"
                   : "pack for the target (--target), or keep the order with form.order = "
                     "\"as_stored\"";
    case Kind::undo_inflate:
      return "pack with form.compress = \"none\"";
    case Kind::map:
      return asked ? "ask for form.residency = \"mapped\""
                   : "take a profile with residency = \"mapped\"";
    case Kind::smaller_codec:
      return "pack with format = \"f16\" or a smaller one";
  }
  return "";
}

std::string_view change(Kind kind) noexcept {
  switch (kind) {
    case Kind::undo_dequantize:
      return "dequantized to f32";
    case Kind::undo_relayout:
      return "relaid";
    case Kind::undo_inflate:
      return "inflated";
    case Kind::map:
      return "on the heap";
    case Kind::smaller_codec:
      return "f32 on the heap";
  }
  return "";
}

std::string text_of(const Suggestion& suggestion) {
  const std::size_t count = suggestion.weights.size();
  const std::string who = count == 1 ? "1 weight is" : fmt::format("{} weights are", count);
  return fmt::format("{} {}: {}", who, change(suggestion.kind),
                     cure(suggestion.kind, suggestion.asked));
}

}  // namespace

std::vector<Suggestion> suggestions_for(const std::vector<PlannedLoad>& weights) {
  std::map<std::pair<bool, Kind>, Suggestion> by_kind;
  for (const PlannedLoad& load : weights)
    for (const Saving& saving : savings_of(load)) {
      if (saving.bytes == 0) continue;
      Suggestion& suggestion = by_kind[{saving.asked, saving.kind}];
      suggestion.kind = saving.kind;
      suggestion.asked = saving.asked;
      suggestion.saves = saturating_add(suggestion.saves, saving.bytes);
      suggestion.weights.push_back(load.weight->weight.path);
    }
  std::vector<Suggestion> suggestions;
  for (auto& [key, suggestion] : by_kind) {
    suggestion.text = text_of(suggestion);
    suggestions.push_back(std::move(suggestion));
  }
  const auto rank = [](const Suggestion& each) {
    const bool heap = each.kind == Kind::map || each.kind == Kind::smaller_codec;
    return std::tuple(each.asked, !each.asked && heap, ~each.saves, each.kind);
  };
  std::sort(suggestions.begin(), suggestions.end(),
            [&](const Suggestion& a, const Suggestion& b) { return rank(a) < rank(b); });
  return suggestions;
}

}  // namespace synps
