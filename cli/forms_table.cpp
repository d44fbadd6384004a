#include "forms_table.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <utility>

#include "synps/memory_plan.h"
#include "synps/row_order.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr TargetRequest kTargets[] = {TargetRequest::cpu, TargetRequest::cpu_portable,
                                      TargetRequest::cpu_avx2, TargetRequest::cpu_neon};

/// A matrix that every block codec can store, in every order that it has.
Weight sample_matrix() {
  return {"w", Shape{64, 4096}, DType::f32};
}

std::optional<StoredWeight> stored_sample(const Codec& codec, Order order) {
  StoredWeight stored;
  stored.weight = sample_matrix();
  if (!codec.supports(stored.weight).ok) return std::nullopt;
  stored.codec = CodecRef::of(codec.info());
  for (const Component& component : codec.components(stored.weight)) {
    StoredComponent& each = stored.components.emplace_back();
    each.component = component;
    each.order = order;
    each.stored_bytes = component.bytes;
    each.chunk_rows = stored.weight.shape.rows();
    each.chunk_bytes = component.bytes;
  }
  if (order == Order::rows8 && !can_be_rows8(codec, stored.weight)) return std::nullopt;
  return stored;
}

/// "rows8, heap"; "f32, heap (refused)".
std::string cell(const Codec& codec, const StoredWeight& stored, const Profile& profile,
                 const Capabilities& capabilities) {
  FormDecision decision =
      resolve_form(stored_form(stored), {}, profile, capabilities, can_produce(&codec, stored));
  const WeightMemory memory = memory_of(stored, decision);
  const MemoryPlan plan =
      resolve_plan({{&stored, std::move(decision), memory}}, std::nullopt, profile.strict);
  const FormDecision& made = plan.weights[0].decision;
  return fmt::format("{}, {}{}", made.dequantizes ? "f32" : to_string(made.form.order),
                     to_string(made.form.residency), plan.refused.empty() ? "" : " (refused)");
}

void append(std::string& list, std::string_view name) {
  if (!list.empty()) list += ", ";
  list += name;
}

/// What a codec's matrix becomes: its rows of the table, without its name.
std::string rows_of(const Codec& codec, const KernelRegistry& kernels,
                    const std::vector<Profile>& profiles) {
  std::string rows;
  for (const Order order : {Order::rows1, Order::rows8}) {
    const auto stored = stored_sample(codec, order);
    if (!stored) continue;
    // Of rows that agree the targets, in the order of their first.
    std::vector<std::pair<std::string, std::string>> targets_of;
    for (const TargetRequest target : kTargets) {
      std::string cells;
      for (const Profile& profile : profiles)
        cells += " " + cell(codec, *stored, profile, kernels.capabilities(target)) + " |";
      auto at = targets_of.begin();
      while (at != targets_of.end() && at->first != cells) ++at;
      if (at == targets_of.end()) at = targets_of.insert(at, {cells, {}});
      append(at->second, to_string(target));
    }
    for (const auto& [cells, targets] : targets_of)
      rows += fmt::format(" {} | {} |{}\n", to_string(order), targets, cells);
  }
  return rows;
}

/// Puts `names` before each of the rows.
std::string labelled(std::string_view rows, const std::string& names) {
  std::string out;
  while (!rows.empty()) {
    const std::size_t end = rows.find('\n') + 1;
    out += "| " + names + " |";
    out += rows.substr(0, end);
    rows.remove_prefix(end);
  }
  return out;
}

}  // namespace

std::string forms_table(const CodecRegistry& codecs, const KernelRegistry& kernels,
                        const std::vector<Profile>& profiles) {
  std::vector<std::pair<std::string, std::string>> names_of;  // by the rows that they share
  for (const Codec* codec : codecs.all()) {
    std::string rows = rows_of(*codec, kernels, profiles);
    if (rows.empty()) continue;
    auto at = names_of.begin();
    while (at != names_of.end() && at->first != rows) ++at;
    if (at == names_of.end()) at = names_of.insert(at, {std::move(rows), {}});
    append(at->second, "`" + CodecRegistry::short_name(codec->info()) + "`");
  }
  std::string out = "| codec | stored order | target |";
  std::string rule = "|---|---|---|";
  for (const Profile& profile : profiles) {
    out += fmt::format(" `{}` |", profile.name);
    rule += "---|";
  }
  out += "\n" + rule + "\n";
  for (const auto& [rows, names] : names_of) out += labelled(rows, names);
  return out;
}

}  // namespace synps::cli
