#include "diff_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "diff_forms.h"
#include "path_folding.h"
#include "synps/error.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

/// Weights that are named before the roll-up.
constexpr std::size_t kWorst = 5;
/// Rows of a list that is not of values, without --all.
constexpr std::size_t kShownRows = 20;

std::string side_text(const char* label, const SideSummary& side) {
  return fmt::format("{}  {}: {}, {}, {} in {}, {} bits each\n", label,
                     escape_for_display(side.path), side.kind, counted(side.weights, "weight"),
                     human_bytes(side.weight_bytes), counted(side.elements, "element"),
                     bits_each(side.weight_bytes, side.elements));
}

std::vector<std::string> cells_of(const WeightDiff& weight) {
  const auto text = [](const SourceTensor* tensor) {
    return tensor == nullptr ? std::string("-") : encoding_text(*tensor);
  };
  return {text(weight.a), text(weight.b)};
}

std::string counts_text(const DiffReport& report) {
  const std::uint64_t equal = report.count(DiffStatus::equal);
  std::string out = fmt::format("{} in both: ", counted(report.paired, "weight"));
  if (equal == report.paired) return out + "all equal in value\n";
  out += fmt::format("{} equal in value", grouped(equal));
  const std::pair<DiffStatus, const char*> kinds[] = {
      {DiffStatus::value, "of other values"},
      {DiffStatus::shape, "of another shape"},
      {DiffStatus::dtype, "of another dtype"},
      {DiffStatus::not_comparable, "that cannot be compared"}};
  for (const auto& [status, what] : kinds)
    if (const std::uint64_t count = report.count(status); count != 0)
      out += fmt::format(", {} {}", grouped(count), what);
  return out + "\n";
}

/// Weights of a status, with their reasons.
std::string status_text(const DiffReport& report, DiffStatus status, const char* title, bool all,
                        std::size_t width) {
  std::vector<FoldItem> items;
  for (const WeightDiff& weight : report.weights)
    if (weight.status == status && !(status == DiffStatus::value && weight.decoded))
      items.push_back({weight.path, weight.reason});
  if (items.empty()) return {};
  FoldOptions options;
  options.numbers = options.names = !all;
  std::string out = fmt::format("\n{}: {}\n", title, counted(items.size(), "weight"));
  std::size_t rows = 0;
  std::size_t left = items.size();
  for (const FoldedRow& row : fold_paths(items, options)) {
    if (!all && rows++ == kShownRows) break;
    left -= row.members.size();
    const FoldItem& first = items[row.members.front()];
    std::string line = "  " + escape_for_display(all ? first.path : row.pattern);
    if (row.members.size() > 1) line += fmt::format("  ({})", grouped(row.members.size()));
    if (!first.key.empty()) line += ": " + escape_for_display(first.key);
    out += wrapped(line, width, 6) + "\n";
  }
  if (left != 0) out += fmt::format("  ... and {}\n", counted(left, "more weight"));
  return out;
}

std::string values_text(const DiffOutput& output, std::size_t width) {
  std::vector<ErrorItem> items = value_items(*output.report);
  const std::vector<std::string> titles{"A", "B"};
  if (output.all) {
    for (const WeightDiff& weight : output.report->weights)
      if (weight.status == DiffStatus::equal)
        items.push_back({weight.path, cells_of(weight), weight.figures});
    if (items.empty()) return {};
    return "\nAll weights that can be compared, worst first:\n" +
           error_table(error_rows(items, true), titles, true, width);
  }
  if (items.empty()) return {};
  std::vector<ErrorItem> worst;
  for (const std::size_t i : worst_first(items)) {
    if (worst.size() == kWorst) break;
    worst.push_back(items[i]);
  }
  std::string out = items.size() > kWorst ? fmt::format("\nThe worst {}:\n", kWorst)
                                          : std::string("\nThe weights of other values:\n");
  out += error_table(error_rows(worst, true), titles, true, width);
  if (items.size() <= kWorst) return out;
  return out +
         "\nBy pattern, the worst first; each column has the worst of a pattern's weights:\n" +
         error_table(error_rows(items, false), titles, false, width);
}

void write_side(JsonWriter& json, const SideSummary& side) {
  json.begin_object().key("path").string(escape_for_display(side.path));
  json.key("kind").string(side.kind);
  json.key("weights").integer(side.weights);
  json.key("elements").integer(side.elements);
  json.key("weight_bytes").integer(side.weight_bytes);
  json.key("file_bytes").integer(side.file_bytes).end_object();
}

void write_tensor(JsonWriter& json, const SourceTensor* tensor) {
  if (tensor == nullptr) {
    json.null();
    return;
  }
  json.begin_object().key("encoding").string(tensor->encoding);
  json.key("dtype").string(encoding_name(tensor->weight.dtype));
  json.key("shape").begin_array();
  for (const std::uint64_t extent : tensor->weight.shape.extents()) json.integer(extent);
  json.end_array().key("bytes").integer(bytes_in_file(*tensor)).end_object();
}

void write_forms(JsonWriter& json, const WeightDiff& weight) {
  json.key("forms").begin_array();
  for (const FormDifference& each : form_differences(weight))
    json.begin_object()
        .key("field")
        .string(each.field)
        .key("a")
        .string(each.a)
        .key("b")
        .string(each.b)
        .end_object();
  json.end_array();
}

void write_weight(JsonWriter& json, const WeightDiff& weight, bool forms) {
  json.begin_object().key("path").string(weight.path);
  json.key("status").string(to_string(weight.status));
  json.key("a");
  write_tensor(json, weight.a);
  json.key("b");
  write_tensor(json, weight.b);
  json.key("decoded").boolean(weight.decoded);
  write_figures(json, weight.has_figures() ? &weight.figures : nullptr);
  json.key("reason");
  weight.reason.empty() ? json.null() : json.string(weight.reason);
  if (forms) write_forms(json, weight);
  json.end_object();
}

void write_paths(JsonWriter& json, const char* key, const DiffReport& report, DiffStatus status) {
  json.key(key).begin_array();
  for (const WeightDiff& weight : report.weights)
    if (weight.status == status) json.string(weight.path);
  json.end_array();
}

void write_groups(JsonWriter& json, const DiffReport& report) {
  json.key("groups").begin_array();
  for (const ErrorRow& row : error_rows(value_items(report), false)) {
    json.begin_object().key("pattern").string(row.pattern);
    json.key("weights").integer(row.members.size());
    json.key("a").string(row.cells[0]).key("b").string(row.cells[1]);
    write_figures(json, &row.figures);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

bool DiffOutput::equal() const {
  return report->equal() && (!forms || same_forms(*report));
}

std::vector<ErrorItem> value_items(const DiffReport& report) {
  std::vector<ErrorItem> items;
  for (const WeightDiff& weight : report.weights)
    if (weight.status == DiffStatus::value && weight.has_figures())
      items.push_back({weight.path, cells_of(weight), weight.figures});
  return items;
}

std::vector<std::string> why_nothing_pairs(const DiffReport& report, const SideSummary& a,
                                           const SideSummary& b) {
  if (report.paired != 0 || a.weights == 0 || b.weights == 0) return {};
  std::vector<std::string> lines{
      "no weight of A has the name of a weight of B: nothing is compared"};
  if ((a.kind == "GGUF") != (b.kind == "GGUF"))
    lines.push_back(
        "GGUF files have names of their own (blk.0.attn_q.weight), also for the same model: "
        "compare with what was packed from the GGUF file");
  return lines;
}

std::string diff_text(const DiffOutput& output, std::size_t width) {
  const DiffReport& report = *output.report;
  std::string out = side_text("A", output.a) + side_text("B", output.b) + "\n";
  const std::vector<std::string> nothing = why_nothing_pairs(report, output.a, output.b);
  if (nothing.empty()) out += counts_text(report);
  for (const std::string& line : nothing) out += wrapped(line, width, 0) + "\n";
  const auto add = [&](DiffStatus status, const char* title) {
    out += status_text(report, status, title, output.all, width);
  };
  add(DiffStatus::only_in_a, "only in A");
  add(DiffStatus::only_in_b, "only in B");
  add(DiffStatus::folded, "scales that one side has folded into its weights, no difference");
  add(DiffStatus::shape, "another shape");
  add(DiffStatus::dtype, "another dtype");
  add(DiffStatus::not_comparable, "cannot be compared");
  add(DiffStatus::value, "other bytes");
  out += values_text(output, width);
  if (!output.forms) return out;
  const std::string forms = forms_text(report, output.all, width);
  return out + (forms.empty() ? "\nforms: the same\n" : "\nOther forms:\n" + forms);
}

std::string diff_json(const DiffOutput& output) {
  const DiffReport& report = *output.report;
  JsonWriter json;
  json.begin_object().key("equal").boolean(report.equal());
  if (output.forms) json.key("same_forms").boolean(same_forms(report));
  json.key("a");
  write_side(json, output.a);
  json.key("b");
  write_side(json, output.b);
  json.key("paired").integer(report.paired);
  json.key("weights").begin_array();
  for (const WeightDiff& weight : report.weights) write_weight(json, weight, output.forms);
  json.end_array();
  write_paths(json, "only_in_a", report, DiffStatus::only_in_a);
  write_paths(json, "only_in_b", report, DiffStatus::only_in_b);
  write_groups(json, report);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
