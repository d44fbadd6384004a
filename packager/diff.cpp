#include "synps/diff.h"

#include <algorithm>

#include <fmt/format.h>

#include "artifact_input.h"
#include "compare_sources.h"
#include "diff_pairs.h"
#include "memory_model.h"
#include "progress.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/memory.h"
#include "synps/parallel.h"

namespace synps {
namespace {

/// Of what a program makes of a weight's result, to show it: rows of tables, a report's, and JSON,
/// of which there are two copies while it grows.
constexpr std::uint64_t kShownBytes = 1536;

/// Whether two tensors are the same when their bytes are, scales apart.
bool same_encoding(const SourceTensor& a, const SourceTensor& b) noexcept {
  return a.encoding == b.encoding && component_sizes(a) == component_sizes(b);
}

/// What a side has, for messages about what cannot be compared.
std::string described(const SourceTensor& tensor) {
  return fmt::format("{} {}", tensor.encoding, tensor.weight.shape.to_string());
}

/// Compares the pairs, through buffers that it keeps. For one thread.
class PairComparer {
 public:
  PairComparer(const DiffSide& a, const DiffSide& b, Progress& progress)
      : a_(a), b_(b), comparer_(progress) {}

  /// Of a path that both have.
  void compare(const DiffPair& pair, WeightDiff& out);

 private:
  bool same_bytes(const ComparedTensor& a, const ComparedTensor& b);
  ValueComparison values_of(const ComparedTensor& a, const ComparedTensor& b);
  void compare_decoded(const ComparedTensor& a, const ComparedTensor& b, WeightDiff& out);
  void compare_bytes(const ComparedTensor& a, const ComparedTensor& b, WeightDiff& out);

  const DiffSide& a_;
  const DiffSide& b_;
  SourceComparer comparer_;
};

void PairComparer::compare(const DiffPair& pair, WeightDiff& out) {
  std::string reason_a;
  std::string reason_b;
  const ComparedTensor a = a_.compared(*pair.a, &reason_a);
  const ComparedTensor b = b_.compared(*pair.b, &reason_b);
  const Weight& first = a.tensor->weight;
  const Weight& second = b.tensor->weight;
  const bool floats = dtype_is_float(first.dtype) && dtype_is_float(second.dtype);
  // Blocks that nothing decodes are rows of bytes in an artifact, and of elements elsewhere.
  const bool same_kept = a.codec == nullptr && b.codec == nullptr &&
                         same_encoding(*a.tensor, *b.tensor) &&
                         kept_weight(*a.tensor) == kept_weight(*b.tensor);
  if (first.shape != second.shape && !same_kept) {
    out.status = DiffStatus::shape;
    out.reason = fmt::format("{} against {}", first.shape.to_string(), second.shape.to_string());
  } else if (!floats && first.dtype != second.dtype && !same_kept) {
    out.status = DiffStatus::dtype;
    out.reason = fmt::format("{} against {}", dtype_name(first.dtype), dtype_name(second.dtype));
  } else if (a.codec != nullptr && b.codec != nullptr) {
    compare_decoded(a, b, out);
  } else if (same_encoding(*a.tensor, *b.tensor)) {
    compare_bytes(a, b, out);
  } else {
    out.status = DiffStatus::not_comparable;
    out.reason = fmt::format("{} against {}: {}", described(*a.tensor), described(*b.tensor),
                             a.codec == nullptr ? "in A " + reason_a : "in B " + reason_b);
  }
}

/// Whether bytes alone show that the values are equal.
bool PairComparer::same_bytes(const ComparedTensor& a, const ComparedTensor& b) {
  if (!same_encoding(*a.tensor, *b.tensor)) return false;
  if (a.scale.has_value() != b.scale.has_value()) return false;
  if (a.scale) {
    if (a.scale->form != b.scale->form || !same_encoding(*a.scale->tensor, *b.scale->tensor))
      return false;
    const auto scale_of = [](const ComparedTensor& of) {
      return ComparedTensor{of.checkpoint, of.scale->tensor, nullptr, std::nullopt,
                            of.scale->codec};
    };
    const ComparedTensor scale_a = scale_of(a);
    const ComparedTensor scale_b = scale_of(b);
    if (comparer_.compare_bytes(scale_a, scale_b)) return false;
  }
  return !comparer_.compare_bytes(a, b);
}

/// Without the advice that packing gives of scales: there is no policy here that could keep them.
ValueComparison PairComparer::values_of(const ComparedTensor& a, const ComparedTensor& b) {
  try {
    return comparer_.compare_values(a, b);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::checkpoint) throw;
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      problem.hint = "nothing can be compared with a weight that has no values";
    throw Error(std::move(problems));
  }
}

void PairComparer::compare_decoded(const ComparedTensor& a, const ComparedTensor& b,
                                   WeightDiff& out) {
  out.decoded = true;
  if (same_bytes(a, b)) {
    out.figures = no_error(a.tensor->weight.shape.elements());
    return;
  }
  const ErrorSums sums = values_of(a, b).sums();
  out.figures = sums.figures();
  if (sums.any()) out.status = DiffStatus::value;
}

void PairComparer::compare_bytes(const ComparedTensor& a, const ComparedTensor& b,
                                 WeightDiff& out) {
  const std::optional<FirstDifference> first = comparer_.compare_bytes(a, b);
  if (!first) {
    out.figures = no_error(a.tensor->weight.shape.elements());
    return;
  }
  out.status = DiffStatus::value;
  out.reason =
      fmt::format("{} is {} in A and {} in B", first->where, first->reference, first->value);
}

MemoryNeed memory_need(const DiffSide& a, const DiffSide& b, const std::vector<DiffPair>& pairs) {
  std::uint64_t index = memory_of(a.checkpoint()) + memory_of(b.checkpoint());
  for (const DiffSide* side : {&a, &b})
    for (const std::size_t i : side->weights()) {
      const Weight& weight = side->checkpoint().tensors()[i].weight;
      index += sizeof(WeightFacts) + sizeof i + 3 * heap_bytes(weight.path) +
               2 * heap_bytes(weight.shape);
    }
  CompareNeed buffers;
  for (const DiffPair& pair : pairs) {
    const DiffSide& side = pair.a ? a : b;
    const std::size_t tensor = pair.a ? *pair.a : *pair.b;
    index += sizeof pair + sizeof(WeightDiff) + kShownBytes +
             4 * heap_bytes(side.checkpoint().tensors()[tensor].weight.path);
    if (pair.a && pair.b) buffers.add(a.compared(*pair.a), b.compared(*pair.b));
  }
  std::uint64_t most = buffers.bytes();
  for (const DiffSide* side : {&a, &b}) {
    const ArtifactSet* const artifact = side->checkpoint().artifact();
    if (artifact == nullptr) continue;  // else its digests are compared first
    index += sums_bytes(*artifact);
    most = std::max(most, kCheckBytes + inflater_bytes(artifact->index()));
  }
  MemoryNeed need;
  need.program_bytes = kProgramMemory;
  need.index_bytes = round_up_index(index);
  need.worker_bytes = saturating_add(most, kWorkerMemory);
  return need;
}

/// Bytes that are read, at the least: of what both have, and of artifacts, to check them.
std::uint64_t bytes_of(const DiffSide& a, const DiffSide& b, const std::vector<DiffPair>& pairs) {
  std::uint64_t bytes = 0;
  for (const DiffSide* side : {&a, &b})
    if (const ArtifactSet* artifact = side->checkpoint().artifact())
      bytes += artifact->index().stored_bytes();
  for (const DiffPair& pair : pairs)
    if (pair.a && pair.b)
      bytes += a.checkpoint().tensors()[*pair.a].bytes + b.checkpoint().tensors()[*pair.b].bytes;
  return bytes;
}

/// What there is to say of a path without looking at values.
WeightDiff describe(const DiffSide& a, const DiffSide& b, const DiffPair& pair) {
  WeightDiff out;
  if (pair.a) out.a = &a.checkpoint().tensors()[*pair.a];
  if (pair.b) out.b = &b.checkpoint().tensors()[*pair.b];
  out.path = (pair.a ? out.a : out.b)->weight.path;
  if (pair.a && pair.b) return out;
  out.status = pair.a ? DiffStatus::only_in_a : DiffStatus::only_in_b;
  const DiffSide& side = pair.a ? a : b;
  const std::size_t tensor = pair.a ? *pair.a : *pair.b;
  if (!is_folded(side, tensor, pair.a ? b : a)) return out;
  out.status = DiffStatus::folded;
  const std::size_t weight = *side.checkpoint().tensors()[tensor].scale_of;
  out.reason = fmt::format("{} has folded it into {}", pair.a ? "B" : "A",
                           side.checkpoint().tensors()[weight].weight.path);
  return out;
}

}  // namespace

std::string_view to_string(DiffStatus status) noexcept {
  switch (status) {
    case DiffStatus::equal:
      return "equal";
    case DiffStatus::value:
      return "value";
    case DiffStatus::shape:
      return "shape";
    case DiffStatus::dtype:
      return "dtype";
    case DiffStatus::not_comparable:
      return "not_comparable";
    case DiffStatus::only_in_a:
      return "only_in_a";
    case DiffStatus::only_in_b:
      return "only_in_b";
    case DiffStatus::folded:
      break;
  }
  return "folded";
}

std::uint64_t bytes_in_file(const SourceTensor& tensor) noexcept {
  if (tensor.stored == nullptr) return tensor.bytes;
  std::uint64_t bytes = 0;
  for (const StoredComponent& each : tensor.stored->components)
    bytes += each.compressed() ? each.stored_bytes : each.component.bytes;
  return bytes;
}

bool DiffReport::equal() const noexcept {
  return std::none_of(weights.begin(), weights.end(),
                      [](const WeightDiff& weight) { return weight.differs(); });
}

std::uint64_t DiffReport::count(DiffStatus status) const noexcept {
  return static_cast<std::uint64_t>(
      std::count_if(weights.begin(), weights.end(),
                    [status](const WeightDiff& weight) { return weight.status == status; }));
}

DiffReport diff(const Checkpoint& a, const Checkpoint& b, const CodecRegistry& codecs,
                const DiffOptions& options) {
  const DiffSide first(a, codecs);
  const DiffSide second(b, codecs);
  const std::vector<DiffPair> pairs = pair_paths(first, second);
  const unsigned workers =
      workers_within(memory_need(first, second, pairs), worker_count(options.jobs, pairs.size()),
                     options.max_memory, a.path());
  DiffReport report;
  report.weights.resize(pairs.size());
  Progress progress(options.progress, bytes_of(first, second, pairs));
  for (const Checkpoint* side : {&a, &b})
    if (const ArtifactSet* artifact = side->artifact())
      check_artifact_values(*artifact, workers, progress);
  std::vector<PairComparer> comparers;
  comparers.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) comparers.emplace_back(first, second, progress);
  run_parallel(workers, pairs.size(), [&](unsigned worker, std::uint64_t unit) {
    const DiffPair& pair = pairs[static_cast<std::size_t>(unit)];
    WeightDiff& out = report.weights[static_cast<std::size_t>(unit)];
    out = describe(first, second, pair);
    if (pair.a && pair.b) comparers[worker].compare(pair, out);
  });
  a.check_unchanged();
  b.check_unchanged();
  for (const DiffPair& pair : pairs) report.paired += pair.a && pair.b ? 1 : 0;
  return report;
}

}  // namespace synps
