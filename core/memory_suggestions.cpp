#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <tuple>

#include "synps/checked.h"
#include "synps/load_memory.h"
#include "synps/memory_plan.h"

namespace synps {
namespace {

using Kind = Suggestion::Kind;

/// A way out for one weight, and all that it takes.
struct Way {
  Kind kind = Kind::map;
  bool asked = false;     ///< policy or caller asked for what is undone
  bool inflates = false;  ///< it must not be compressed, besides
  bool on_heap = false;   ///< nor asked to be on the heap

  auto operator<=>(const Way&) const = default;
};

struct Saving {
  Way way{};
  std::uint64_t bytes = 0;
};

std::uint64_t less(std::uint64_t now, std::uint64_t then) noexcept {
  return now > then ? now - then : 0;
}

/// The weight as stored, and mapped, which is what a plan over its budget makes of one that is on
/// the heap for its profile alone.
std::uint64_t saved_by_mapping(const PlannedLoad& load) {
  FormDecision decision = load.decision;
  decision.inflates = decision.relays = decision.dequantizes = false;
  decision.form.residency = Residency::mapped;
  return less(load.memory.resident, memory_of(*load.weight, decision).resident);
}

bool stores_f32(const StoredWeight& weight) noexcept {
  return weight.components.size() == 1 && weight.components[0].component.name == "values" &&
         weight.components[0].component.dtype == DType::f32;
}

/// What becomes of the weight, undone with everything that comes of it.
Way undoing(const FormDecision& decision) noexcept {
  Way way;
  way.inflates = decision.inflates && (decision.dequantizes || decision.relays);
  way.on_heap = decision.asked_residency && decision.own_residency == Residency::heap;
  if (decision.dequantizes) {
    way.kind = Kind::undo_dequantize;
    way.asked = decision.reason == FormReason::asked_dequantized;
  } else if (decision.relays) {
    way.kind = Kind::undo_relayout;
    way.asked = decision.reason == FormReason::asked_kernel_feed;
  } else if (decision.inflates) {
    way.kind = Kind::undo_inflate;
  } else {
    way.on_heap = false;
    way.asked = decision.asked_residency;
  }
  return way;
}

/// Everything that would help for one weight, each on its own.
std::vector<Saving> savings_of(const PlannedLoad& load) {
  const FormDecision& decision = load.decision;
  if (decision.form.residency == Residency::mapped) return {};
  std::vector<Saving> found{{undoing(decision), saved_by_mapping(load)}};
  // Half the bytes, in a type that every reader knows.
  if (!decision.converts() && stores_f32(*load.weight))
    found.push_back({{Kind::smaller_codec, true}, load.memory.resident / 2});
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

std::string text_of(const Suggestion& suggestion, const Way& way) {
  const std::size_t count = suggestion.weights.size();
  const std::string who = count == 1 ? "1 weight is" : fmt::format("{} weights are", count);
  std::string text = fmt::format("{} {}{}: {}", who, way.inflates ? "inflated and " : "",
                                 change(way.kind), cure(way.kind, way.asked));
  if (way.inflates) text += "; with form.compress = \"none\"";
  if (way.on_heap) text += "; and do not ask for form.residency = \"heap\"";
  return text;
}

}  // namespace

std::vector<Suggestion> suggestions_for(const std::vector<PlannedLoad>& weights) {
  std::map<Way, Suggestion> by_way;
  for (const PlannedLoad& load : weights)
    for (const Saving& saving : savings_of(load)) {
      if (saving.bytes == 0) continue;
      Suggestion& suggestion = by_way[saving.way];
      suggestion.kind = saving.way.kind;
      suggestion.asked = saving.way.asked || saving.way.on_heap;
      suggestion.saves = saturating_add(suggestion.saves, saving.bytes);
      suggestion.weights.push_back(load.weight->weight.path);
    }
  std::vector<Suggestion> suggestions;
  for (auto& [way, suggestion] : by_way) {
    suggestion.text = text_of(suggestion, way);
    suggestions.push_back(std::move(suggestion));
  }
  const auto rank = [](const Suggestion& each) {
    const bool heap = each.kind == Kind::map || each.kind == Kind::smaller_codec;
    return std::tuple(each.asked, !each.asked && heap, ~each.saves, each.kind);
  };
  std::stable_sort(suggestions.begin(), suggestions.end(),
                   [&](const Suggestion& a, const Suggestion& b) { return rank(a) < rank(b); });
  return suggestions;
}

}  // namespace synps
