#include "load_report.h"

#include <fmt/core.h>

#include <map>
#include <utility>
#include <vector>

#include "synps/error.h"
#include "synps/stored_codec.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr std::string_view kKeys[] = {"file_bytes", "resident_bytes", "mapped_bytes",
                                      "conversion_bytes", "transient_bytes"};

void add(WeightMemory& sum, const WeightMemory& more) noexcept {
  sum.file += more.file;
  sum.resident += more.resident;
  sum.mapped += more.mapped;
  sum.conversion += more.conversion;
  sum.transient = std::max(sum.transient, more.transient);
}

std::vector<std::string> cells(std::string first, const WeightMemory& memory, std::string form) {
  return {std::move(first),       grouped(memory.file),       grouped(memory.resident),
          grouped(memory.mapped), grouped(memory.conversion), grouped(memory.transient),
          std::move(form)};
}

Table make_table(const char* first, Table::Align align) {
  using enum Table::Align;
  return Table({{first, align},
                {"FILE", right},
                {"RESIDENT", right},
                {"MAPPED", right},
                {"CONVERSION", right},
                {"TRANSIENT", right},
                {"FORM", left}});
}

std::string table_text(const MemoryPlan& plan, bool all, std::size_t width) {
  if (all) {
    Table table = make_table("WEIGHT", Table::Align::left);
    for (const PlannedLoad& load : plan.weights)
      table.add(
          cells(escape_for_display(load.weight->weight.path), load.memory, load_form_text(load)));
    return table.render(width);
  }
  struct Group {
    std::uint64_t weights = 0;
    WeightMemory memory{};
  };
  std::map<std::string, Group> groups;
  for (const PlannedLoad& load : plan.weights) {
    Group& group = groups[load_form_text(load)];
    ++group.weights;
    add(group.memory, load.memory);
  }
  Table table = make_table("WEIGHTS", Table::Align::right);
  for (const auto& [form, group] : groups)
    table.add(cells(grouped(group.weights), group.memory, form));
  return table.render(width);
}

std::string budget_text(const MemoryPlan& plan) {
  if (!plan.budget) return {};
  std::string text = fmt::format("  budget      {}: ", exact_bytes(*plan.budget));
  if (plan.fits) return text + "fits\n";
  const std::uint64_t need = plan.total.resident + plan.total.transient;
  return text + fmt::format("does not fit, {} too many\n", exact_bytes(need - *plan.budget));
}

std::string suggestions_text(const MemoryPlan& plan, std::size_t width) {
  std::string out;
  for (const Suggestion& each : plan.suggestions)
    out +=
        wrapped(fmt::format("  saves {}: {}", exact_bytes(each.saves), each.text), width, 4) + "\n";
  return out.empty() ? out : "\nto need less:\n" + out;
}

std::string_view kind_name(Suggestion::Kind kind) noexcept {
  switch (kind) {
    case Suggestion::Kind::undo_dequantize:
      return "undo_dequantize";
    case Suggestion::Kind::undo_relayout:
      return "undo_relayout";
    case Suggestion::Kind::undo_inflate:
      return "undo_inflate";
    case Suggestion::Kind::map:
      return "map";
    case Suggestion::Kind::smaller_codec:
      return "smaller_codec";
  }
  return "";
}

void write_memory(JsonWriter& json, const WeightMemory& memory) {
  const std::uint64_t values[] = {memory.file, memory.resident, memory.mapped, memory.conversion,
                                  memory.transient};
  for (std::size_t i = 0; i < std::size(kKeys); ++i) json.key(kKeys[i]).integer(values[i]);
}

void write_suggestions(JsonWriter& json, const MemoryPlan& plan) {
  json.begin_array();
  for (const Suggestion& each : plan.suggestions) {
    json.begin_object();
    json.key("kind").string(kind_name(each.kind));
    json.key("asked").boolean(each.asked);
    json.key("saves_bytes").integer(each.saves);
    json.key("text").string(each.text);
    json.key("weights").begin_array();
    for (const std::string& path : each.weights) json.string(path);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

LoadReport report_load(const ArtifactIndex& index, const CodecRegistry& codecs,
                       const LoadOptions& options, std::string target) {
  LoadReport report;
  report.profile = options.profile;
  if (options.profile) report.target = std::move(target);
  report.plan = plan_load(
      index, [&](std::size_t i) { return stored_codec(codecs, index.weights[i]); }, options);
  return report;
}

std::string load_form_text(const PlannedLoad& load) {
  const FormDecision& decision = load.decision;
  const StoredForm stored = stored_form(*load.weight);
  const std::string codec = short_codec(stored.codec);
  const std::string kept = fmt::format("{} {}", codec, to_string(stored.order));
  std::string text = kept + (stored.compressed ? " zstd" : "");
  if (decision.dequantizes)
    text += " -> f32";
  else if (decision.converts())
    text += fmt::format(" -> {} {}", codec, to_string(decision.form.order));
  const bool only_inflated = decision.inflates && !decision.relays && !decision.dequantizes;
  return fmt::format("{}, {}; {}{}", text, to_string(decision.form.residency),
                     only_inflated ? "inflated, else " : "", to_string(decision.reason));
}

std::string load_text(const LoadReport& report, bool all, std::size_t width) {
  const MemoryPlan& plan = report.plan;
  std::string out = report.profile
                        ? fmt::format("loading under {}, for kernels of {}\n",
                                      escape_for_display(report.profile->name), report.target)
                        : std::string("loading as packed\n");
  out += fmt::format("  mapped      {}\n", exact_bytes(plan.total.mapped));
  out += fmt::format("  on the heap {}\n", exact_bytes(plan.total.resident));
  out += fmt::format("  conversions make {} of these, and take {} more meanwhile\n",
                     exact_bytes(plan.total.conversion), exact_bytes(plan.total.transient));
  out += budget_text(plan);
  if (!plan.refused.empty())
    out += fmt::format("  refused     {}: the profile is strict\n",
                       counted(plan.refused.size(), "conversion"));
  out += "\n" + table_text(plan, all, width);
  if (!plan.fits || !plan.refused.empty()) out += suggestions_text(plan, width);
  return out;
}

void write_profile(JsonWriter& json, const Profile& profile) {
  json.begin_object().key("name").string(profile.name);
  json.key("memory_bytes");
  profile.memory_bytes ? json.integer(*profile.memory_bytes) : json.null();
  json.key("reserve_bytes").integer(profile.reserve_bytes);
  json.key("residency").string(to_string(profile.residency));
  json.key("strict").boolean(profile.strict).end_object();
}

void write_load(JsonWriter& json, const LoadReport& report) {
  const MemoryPlan& plan = report.plan;
  write_memory(json, plan.total);
  json.key("fits").boolean(plan.fits);
  json.key("budget");
  plan.budget ? json.integer(*plan.budget) : json.null();
  json.key("profile");
  report.profile ? write_profile(json, *report.profile) : static_cast<void>(json.null());
  json.key("target");
  report.target.empty() ? json.null() : json.string(report.target);
  json.key("suggestions");
  write_suggestions(json, plan);
  json.key("refused").begin_array();
  for (const std::size_t i : plan.refused) json.string(plan.weights[i].weight->weight.path);
  json.end_array();
}

void write_no_load(JsonWriter& json) {
  for (const std::string_view key : kKeys) json.key(key).null();
  json.key("fits").boolean(true);
  for (const std::string_view key : {"budget", "profile", "target"}) json.key(key).null();
  json.key("suggestions").begin_array().end_array();
  json.key("refused").begin_array().end_array();
}

void write_load_fields(JsonWriter& json, const PlannedLoad& load) {
  write_memory(json, load.memory);
  json.key("load").begin_object();
  json.key("encoding").string(to_string(load.decision.form.encoding));
  json.key("order").string(to_string(load.decision.form.order));
  json.key("residency").string(to_string(load.decision.form.residency));
  json.key("reason").string(to_string(load.decision.reason));
  json.end_object();
}

void write_no_load_fields(JsonWriter& json) {
  for (const std::string_view key : kKeys) json.key(key).null();
  json.key("load").null();
}

void check_load(const LoadReport& report, const std::string& file, bool allow_over_budget) {
  check_fits(report.plan, report.profile.value_or(Profile{}), file, allow_over_budget);
}

}  // namespace synps::cli
