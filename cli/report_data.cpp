#include <fmt/core.h>

#include <utility>

#include "diff_output.h"
#include "path_folding.h"
#include "report.h"
#include "synps/artifact_index.h"
#include "synps/artifact_set.h"
#include "synps/error.h"
#include "synps/output_kind.h"
#include "text.h"

namespace synps::cli {
namespace {

std::string described(const WeightDiff& weight) {
  if (!weight.reason.empty()) return weight.reason;
  const SourceTensor& tensor = weight.a != nullptr ? *weight.a : *weight.b;
  return fmt::format("{} {}", encoding_text(tensor), tensor.weight.shape.to_string());
}

/// The weights of a status, folded by pattern.
void add_remark(ErrorReport& out, const DiffReport& report, DiffStatus status, const char* title) {
  std::vector<FoldItem> items;
  for (const WeightDiff& weight : report.weights)
    if (weight.status == status && !(status == DiffStatus::value && weight.has_figures()))
      items.push_back({weight.path, described(weight)});
  if (items.empty()) return;
  ReportRemark remark{title, {}, items.size()};
  for (const FoldedRow& row : fold_paths(items)) {
    const FoldItem& first = items[row.members.front()];
    const bool alone = row.members.size() == 1;
    remark.lines.push_back(
        alone ? fmt::format("{}: {}", first.path, first.key)
              : fmt::format("{} ({}): {}", row.pattern, grouped(row.members.size()), first.key));
  }
  out.remarks.push_back(std::move(remark));
}

/// What a weight is stored in: what is kept has its source's encoding, as in diff's reports.
std::string stored_encoding(const WeightError& error) {
  return short_codec(error.codec == CodecRef::keep().id() ? error.source : error.codec);
}

}  // namespace

ErrorReport report_of(const VerifyReport& report, const std::string& artifact,
                      const Checkpoint& reference) {
  ErrorReport out;
  out.reference = summarize(reference);
  out.subject.path = artifact;
  out.subject.kind = report.has_checksums ? "artifact" : "GGUF";
  out.subject.weights = report.weights.size();
  out.subject.file_bytes = report.bytes;
  for (const WeightError& error : report.weights) {
    out.subject.elements += error.elements;
    out.subject.weight_bytes += error.bytes;
    out.weights.push_back({error.path, short_codec(error.source), stored_encoding(error),
                           error.bytes, error.elements,
                           error.has_figures() && error.max_abs_error == 0, error.has_figures(),
                           static_cast<const ErrorFigures&>(error)});
  }
  ReportRemark problems{"Problems", {}, report.problems.size()};
  for (const Problem& problem : report.problems) {
    Problem named = problem;
    named.file.clear();  // which may name folders
    problems.lines.push_back(to_string(named));
  }
  if (!problems.lines.empty()) out.remarks.push_back(std::move(problems));
  return out;
}

ErrorReport report_of(const DiffReport& report, const Checkpoint& a, const Checkpoint& b) {
  ErrorReport out;
  out.reference = summarize(a);
  out.subject = summarize(b);
  for (const WeightDiff& weight : report.weights)
    if (weight.a != nullptr && weight.b != nullptr)
      out.weights.push_back({weight.path, encoding_text(*weight.a), encoding_text(*weight.b),
                             bytes_in_file(*weight.b), weight.b->weight.shape.elements(),
                             weight.status == DiffStatus::equal, weight.has_figures(),
                             weight.figures});
  out.hints = why_nothing_pairs(report, out.reference, out.subject);
  add_remark(out, report, DiffStatus::only_in_a, "Only in the reference");
  add_remark(out, report, DiffStatus::only_in_b, "Not in the reference");
  add_remark(out, report, DiffStatus::shape, "Of another shape");
  add_remark(out, report, DiffStatus::dtype, "Of another dtype");
  add_remark(out, report, DiffStatus::not_comparable, "Cannot be compared");
  add_remark(out, report, DiffStatus::value, "Of other bytes");
  add_remark(out, report, DiffStatus::folded, "Scales that one side has folded in: no difference");
  return out;
}

}  // namespace synps::cli
