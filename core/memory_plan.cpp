#include "synps/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "synps/checked.h"
#include "synps/load_memory.h"

namespace synps {
namespace {

/// A sum of sizes that may not fit 64 bits on the way.
class WideSum {
 public:
  void add(std::uint64_t bytes) noexcept {
    if (__builtin_add_overflow(low_, bytes, &low_)) ++high_;
  }
  void subtract(std::uint64_t bytes) noexcept {
    if (__builtin_sub_overflow(low_, bytes, &low_)) --high_;
  }
  std::uint64_t saturated() const noexcept { return high_ == 0 ? low_ : ~std::uint64_t{0}; }
  /// Whether the sum and `more` are within `limit`.
  bool within(std::uint64_t more, std::uint64_t limit) const noexcept {
    const auto sum = checked_add(low_, more);
    return high_ == 0 && sum && *sum <= limit;
  }

 private:
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
};

/// What the budget is held against, kept as weights change.
class Need {
 public:
  void add(const WeightMemory& memory) {
    resident_.add(memory.resident);
    ++transients_[memory.transient];
  }
  void remove(const WeightMemory& memory) {
    resident_.subtract(memory.resident);
    const auto at = transients_.find(memory.transient);
    if (--at->second == 0) transients_.erase(at);
  }
  std::uint64_t transient() const noexcept {
    return transients_.empty() ? 0 : transients_.rbegin()->first;
  }
  bool within(std::uint64_t budget) const noexcept { return resident_.within(transient(), budget); }

 private:
  WideSum resident_;
  std::map<std::uint64_t, std::size_t> transients_;  // how many weights need so much
};

/// A way to need less, for one weight.
struct Undo {
  std::size_t weight = 0;
  int step = 0;             ///< 1 to 3, of resolve_plan()
  std::uint64_t bytes = 0;  ///< that the weight has on the heap
  WeightMemory memory{};    ///< afterwards
  FormDecision decision{};
};

FormDecision as_stored(const PlannedLoad& load) {
  FormDecision decision = load.decision;
  decision.relays = false;
  decision.form.order = stored_form(*load.weight).order;
  decision.reason = FormReason::undone;
  if (!decision.asked_residency) {
    decision.form.residency = Residency::mapped;
    decision.own_residency = Residency::mapped;
  }
  return decision;
}

/// Inflated bytes are nowhere to map: such a weight keeps its form.
int step_for(const FormDecision& decision) noexcept {
  const bool on_heap = decision.form.residency == Residency::heap;
  if (!on_heap || decision.inflates || decision.dequantizes) return 0;
  if (decision.relayout_is_optional()) return decision.asked_residency ? 3 : 1;
  return decision.relays || decision.asked_residency ? 0 : 2;
}

std::vector<Undo> undos(const std::vector<PlannedLoad>& weights) {
  std::vector<Undo> found;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const PlannedLoad& load = weights[i];
    const int step = step_for(load.decision);
    if (step == 0) continue;
    FormDecision decision = as_stored(load);
    const WeightMemory memory = memory_of(*load.weight, decision);
    found.push_back({i, step, load.memory.resident, memory, std::move(decision)});
  }
  std::sort(found.begin(), found.end(), [&](const Undo& a, const Undo& b) {
    if (a.step != b.step) return a.step < b.step;
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return weights[a.weight].weight->weight.path < weights[b.weight].weight->weight.path;
  });
  return found;
}

/// Makes the weights fit, if that can be.
void fit(std::vector<PlannedLoad>& weights, Need& need, std::uint64_t budget) {
  if (need.within(budget)) return;
  for (Undo& undo : undos(weights)) {
    PlannedLoad& load = weights[undo.weight];
    need.remove(load.memory);
    need.add(undo.memory);
    load.decision = std::move(undo.decision);
    load.memory = undo.memory;
    if (need.within(budget)) return;
  }
}

WeightMemory total_of(const std::vector<PlannedLoad>& weights) noexcept {
  WeightMemory total;
  for (const PlannedLoad& load : weights) {
    total.file = saturating_add(total.file, load.memory.file);
    total.resident = saturating_add(total.resident, load.memory.resident);
    total.mapped = saturating_add(total.mapped, load.memory.mapped);
    total.conversion = saturating_add(total.conversion, load.memory.conversion);
    total.transient = std::max(total.transient, load.memory.transient);
  }
  return total;
}

LoadRequest request_of(const StoredWeight& weight, const LoadOptions& options) {
  for (const LoadOverride& each : options.overrides)
    if (!each.matches || each.matches(weight.weight.path)) return each.request;
  return {};
}

std::uint64_t stored_bytes(const StoredWeight& weight) {
  std::uint64_t bytes = 0;
  for (const StoredComponent& stored : weight.components) {
    const auto sum = checked_add(bytes, stored.stored_bytes);
    if (!sum) throw memory_too_large(weight);
    bytes = *sum;
  }
  return bytes;
}

}  // namespace

WeightMemory memory_of(const StoredWeight& weight, const FormDecision& decision) {
  WeightMemory memory;
  memory.file = stored_bytes(weight);
  if (decision.form.residency == Residency::mapped) {
    memory.mapped = memory.file;
    return memory;
  }
  for (const std::uint64_t block : heap_blocks(weight, decision)) {
    const auto sum = checked_add(memory.resident, block);
    if (!sum) throw memory_too_large(weight);
    memory.resident = *sum;
  }
  if (!decision.converts() || memory.resident == 0) return memory;
  memory.conversion = memory.resident;
  memory.transient =
      saturating_add(conversion_buffer_bytes(weight, decision), row_buffer_bytes(weight, decision));
  if (decision.inflates)
    memory.transient = saturating_add(memory.transient, kInflaterBytes + kVerifyBytes);
  return memory;
}

std::uint64_t resident_as_stored(const StoredWeight& weight, const FormDecision& decision) {
  if (decision.inflates) return stored_bytes(weight);
  FormDecision kept;
  kept.form.residency = decision.own_residency;
  return memory_of(weight, kept).resident;
}

MemoryPlan resolve_plan(std::vector<PlannedLoad> weights, std::optional<std::uint64_t> budget,
                        bool strict) {
  Need need;
  for (const PlannedLoad& load : weights) need.add(load.memory);
  if (budget) fit(weights, need, *budget);
  MemoryPlan plan;
  plan.weights = std::move(weights);
  plan.total = total_of(plan.weights);
  plan.budget = budget;
  plan.fits = !budget || need.within(*budget);
  for (std::size_t i = 0; strict && i < plan.weights.size(); ++i) {
    const PlannedLoad& load = plan.weights[i];
    const bool raises = load.memory.resident > resident_as_stored(*load.weight, load.decision);
    if (load.decision.converts() && raises) plan.refused.push_back(i);
  }
  plan.suggestions = suggestions_for(plan.weights);
  return plan;
}

std::uint64_t budget_here(const Profile& profile) {
  return budget_of(profile, profile.memory_bytes ? 0 : machine_memory().available);
}

namespace {

/// The decision for one weight. `codec` is null where nothing decodes it.
FormDecision decide_load(const StoredWeight& weight, const Codec* codec,
                         const LoadOptions& options) {
  const LoadRequest caller = request_of(weight, options);
  if (options.profile)
    return resolve_form(stored_form(weight), merged(weight.asked, caller), *options.profile,
                        options.capabilities, can_produce(codec, weight));
  FormDecision packed = as_packed(weight);
  if (caller == LoadRequest{}) return packed;
  // What the caller leaves open stays as packed.
  LoadRequest request = caller;
  if (request.order == OrderRequest::automatic) request.order = OrderRequest::as_stored;
  if (request.residency == ResidencyRequest::automatic)
    request.residency =
        packed.own_residency == Residency::heap ? ResidencyRequest::heap : ResidencyRequest::mapped;
  return resolve_form(stored_form(weight), request, Profile{}, options.capabilities,
                      can_produce(codec, weight));
}

}  // namespace

PlannedLoad planned_load(const StoredWeight& weight, const Codec* codec,
                         const LoadOptions& options) {
  FormDecision decision = decide_load(weight, codec, options);
  const WeightMemory memory = memory_of(weight, decision);
  return {&weight, std::move(decision), memory};
}

MemoryPlan plan_load(const ArtifactIndex& index,
                     const std::function<const Codec*(std::size_t weight)>& codec_of,
                     const LoadOptions& options) {
  std::vector<PlannedLoad> weights;
  weights.reserve(index.weights.size());
  for (std::size_t i = 0; i < index.weights.size(); ++i)
    weights.push_back(planned_load(index.weights[i], codec_of(i), options));
  std::optional<std::uint64_t> budget = options.budget;
  if (!budget && options.profile) budget = budget_here(*options.profile);
  return resolve_plan(std::move(weights), budget, options.profile && options.profile->strict);
}

}  // namespace synps
