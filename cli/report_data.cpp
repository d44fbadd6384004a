#include <fmt/core.h>

#include <utility>

#include "report.h"
#include "synps/artifact_set.h"
#include "synps/error.h"
#include "synps/output_kind.h"
#include "text.h"

namespace synps::cli {
namespace {

std::string described(const SourceTensor& tensor) {
  return fmt::format("{}: {} {}", tensor.weight.path, encoding_text(tensor),
                     tensor.weight.shape.to_string());
}

void add_remark(ErrorReport& out, const DiffReport& report, DiffStatus status, const char* title) {
  ReportRemark remark{title, {}};
  for (const WeightDiff& weight : report.weights) {
    if (weight.status != status || (status == DiffStatus::value && weight.has_figures())) continue;
    if (!weight.reason.empty())
      remark.lines.push_back(weight.path + ": " + weight.reason);
    else
      remark.lines.push_back(described(weight.a != nullptr ? *weight.a : *weight.b));
  }
  if (!remark.lines.empty()) out.remarks.push_back(std::move(remark));
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
    out.weights.push_back({error.path, short_codec(error.source), short_codec(error.codec),
                           error.bytes, error.elements,
                           error.has_figures() && error.max_abs_error == 0, error.has_figures(),
                           static_cast<const ErrorFigures&>(error)});
  }
  ReportRemark problems{"Problems", {}};
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
