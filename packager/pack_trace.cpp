#include "pack_trace.h"

#include <algorithm>
#include <utility>

#include "synps/checked.h"

namespace synps {
namespace {

constexpr std::string_view kCompress = "compress";

}  // namespace

std::uint64_t PackTrace::memory(const Plan& plan) noexcept {
  constexpr std::uint64_t kWeight = 2 * sizeof(WeightTime) + 4 * sizeof(std::uint64_t);
  return saturating_mul(plan.weights.size(), kWeight);
}

void PackTrace::add(std::vector<WeightTime>& times, std::size_t stored, const UnitTime& time) {
  const std::lock_guard lock(mutex_);
  WeightTime& weight = times[stored];
  weight.unit.begin = weight.any ? std::min(weight.unit.begin, time.begin) : time.begin;
  weight.unit.end = weight.any ? std::max(weight.unit.end, time.end) : time.end;
  weight.unit.read += time.read;
  weight.unit.fold += time.fold;
  weight.unit.relayout += time.relayout;
  weight.busy += time.end - time.begin - time.waited;
  weight.any = true;
}

ConversionEvent PackTrace::event_of(const PlannedWeight& planned, PlannedConversion each) const {
  const WeightTime& time = (each.kind == kCompress ? compressing_ : encoding_)[planned.stored];
  ConversionEvent event;
  event.kind = each.kind;
  event.from = std::move(each.from);
  event.to = std::move(each.to);
  event.bytes_before = each.bytes_before;
  event.bytes_after = each.bytes_after;
  event.begin = time.unit.begin;
  event.end = time.unit.end;
  event.busy = time.busy;
  const UnitTime& unit = time.unit;
  if (each.kind == "inflate") event.busy = unit.read;
  if (each.kind == "fold_scale") event.busy = unit.fold;
  if (each.kind == "encode") event.busy = time.busy - unit.read - unit.fold - unit.relayout;
  if (each.kind != "relayout") return event;
  // All that copying into another order does is for that, but for what comes before it. Reading
  // from another order is one with inflating, where both are done.
  const bool inflates = planned.source != nullptr && is_compressed(*planned.source);
  if (planned.copied)
    event.busy = time.busy - (inflates ? unit.read : std::chrono::nanoseconds(0));
  else if (each.of_source)
    event.busy = inflates ? std::chrono::nanoseconds(0) : unit.read;
  else
    event.busy = unit.relayout;
  return event;
}

void PackTrace::tell(const ArtifactIndex& index) const {
  struct Work {
    std::chrono::steady_clock::time_point begin;
    std::size_t weight;
    bool compresses;
  };
  std::vector<Work> sequence;
  for (std::size_t i = 0; i < plan_.weights.size(); ++i)
    for (const bool compresses : {false, true})
      if (const WeightTime& time = (compresses ? compressing_ : encoding_)[plan_.weights[i].stored];
          time.any)
        sequence.push_back({time.unit.begin, i, compresses});
  std::stable_sort(sequence.begin(), sequence.end(),
                   [](const Work& a, const Work& b) { return a.begin < b.begin; });
  for (const Work& work : sequence) {
    const PlannedWeight& planned = plan_.weights[work.weight];
    const StoredWeight& written = index.weights[planned.stored];
    for (PlannedConversion& each : planned_conversions(checkpoint_, planned, written)) {
      if ((each.kind == kCompress) != work.compresses) continue;
      ConversionEvent event = event_of(planned, std::move(each));
      event.weight = written.weight.path;
      sink_.conversion(event);
    }
  }
}

}  // namespace synps
