#include "synps/verify.h"

#include <memory>
#include <set>

#include <fmt/format.h>

#include "compare.h"
#include "memory_model.h"
#include "progress.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/memory.h"
#include "synps/parallel.h"
#include "synps/shard_name.h"
#include "synps/stored_codec.h"
#include "verify_gguf.h"

namespace synps {
namespace {

/// The most weights that are missing, and get a problem each.
constexpr std::size_t kToldSingly = 10;

struct WeightPair {
  const SourceTensor* source = nullptr;
  const StoredWeight* stored = nullptr;
  const ArtifactReader* file = nullptr;  ///< that the stored weight is in
};

Problem weight_problem(const std::string& file, const Weight& weight, std::string what) {
  return {.code = ErrorCode::artifact, .file = file, .what = std::move(what), .field = weight.path};
}

/// The checkpoint's scales that the artifact has folded into their weights, by tensor.
std::vector<bool> folded_scales(const Checkpoint& checkpoint, const ArtifactSet& artifact) {
  std::vector<bool> folded(checkpoint.tensors().size(), false);
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    if (!tensor.scale) continue;
    const StoredWeight* const stored = artifact.find(tensor.weight.path);
    if (stored != nullptr && stored->scale && stored->scale->folded)
      folded[tensor.scale->tensor] = true;
  }
  return folded;
}

struct LackingWeight {
  const Weight* weight = nullptr;
  const std::string* file = nullptr;  ///< that has it, or should have it
};

/// Weights that one side lacks: a problem each, or one for all when they are many.
void add_lacking(const std::string& artifact, const std::vector<LackingWeight>& lacking,
                 std::size_t of, const char* one, const char* many,
                 std::vector<Problem>& problems) {
  if (lacking.size() <= kToldSingly) {
    for (const LackingWeight& each : lacking)
      problems.push_back(weight_problem(*each.file, *each.weight, one));
    return;
  }
  Problem problem{.code = ErrorCode::artifact, .file = artifact, .what = many};
  problem.found =
      fmt::format("{} of {}, such as {}", lacking.size(), of, quote(lacking.front().weight->path));
  problems.push_back(std::move(problem));
}

/// A shard by itself, named in place of the artifact, has few of the checkpoint's weights.
std::optional<Problem> part_of_several(const ArtifactSet& artifact, std::size_t lacking,
                                       std::size_t of) {
  const auto shard = parse_shard_name(artifact.path());
  if (lacking == 0 || artifact.is_sharded() || !shard || shard->count == 1) return std::nullopt;
  Problem problem{.code = ErrorCode::artifact, .file = artifact.path()};
  problem.what = fmt::format("this is shard {} of {} of {}, and not the whole artifact",
                             shard->number, shard->count, quote(shard->artifact));
  problem.found = fmt::format("{} of the checkpoint's {} weights", of - lacking, of);
  problem.hint = "name the shard index: " + quote(shard_index_name(shard->artifact));
  return problem;
}

/// Weights that are the same on both sides; problems for the others.
std::vector<WeightPair> pair_weights(const Checkpoint& checkpoint, const ArtifactSet& artifact,
                                     std::vector<Problem>& problems) {
  std::vector<WeightPair> pairs;
  std::vector<LackingWeight> only_in_source;
  std::vector<LackingWeight> only_in_artifact;
  const std::vector<SourceTensor>& tensors = checkpoint.tensors();
  const std::vector<StoredWeight>& weights = artifact.index().weights;
  const std::vector<bool> folded = folded_scales(checkpoint, artifact);
  std::size_t t = 0;
  std::size_t w = 0;
  while (t < tensors.size() || w < weights.size()) {
    if (t < tensors.size() && folded[t] &&
        (w == weights.size() || tensors[t].weight.path != weights[w].weight.path)) {
      ++t;
      continue;
    }
    const bool only_source =
        w == weights.size() ||
        (t < tensors.size() && tensors[t].weight.path < weights[w].weight.path);
    const bool only_stored =
        !only_source && (t == tensors.size() || weights[w].weight.path < tensors[t].weight.path);
    if (only_source) {
      only_in_source.push_back({&tensors[t++].weight, &artifact.path()});
    } else if (only_stored) {
      only_in_artifact.push_back({&weights[w].weight, &artifact.file_of(w).path()});
      ++w;
    } else {
      pairs.push_back({&tensors[t++], &weights[w], &artifact.file_of(w)});
      ++w;
    }
  }
  const std::size_t wanted = pairs.size() + only_in_source.size();
  if (auto part = part_of_several(artifact, only_in_source.size(), wanted))
    problems.push_back(std::move(*part));
  else
    add_lacking(artifact.path(), only_in_source, wanted,
                "the checkpoint's weight is not in the artifact",
                "weights of the checkpoint are not in the artifact", problems);
  add_lacking(artifact.path(), only_in_artifact, weights.size(),
              "the weight is not in the checkpoint", "weights are not in the checkpoint", problems);
  return pairs;
}

std::string scale_text(const StoredScale& scale) {
  return fmt::format("{}, per {}", quote(scale.path), to_string(scale.form));
}

/// A scale that is not the one that the checkpoint has for the weight.
std::optional<Problem> scale_mismatch(const Checkpoint& checkpoint, const WeightPair& pair) {
  const StoredWeight& stored = *pair.stored;
  std::optional<StoredScale> wanted;
  if (const auto& scale = pair.source->scale)
    wanted = StoredScale{checkpoint.tensors()[scale->tensor].weight.path, scale->form,
                         stored.scale && stored.scale->folded};
  if (stored.scale == wanted) return std::nullopt;
  Problem problem =
      weight_problem(pair.file->path(), stored.weight, "the scale is not the checkpoint's");
  problem.found = stored.scale ? scale_text(*stored.scale) : "none";
  problem.want = wanted ? scale_text(*wanted) : "none";
  return problem;
}

/// Shape, dtype or encoding that is not the source's.
std::optional<Problem> mismatch(const Checkpoint& checkpoint, const WeightPair& pair) {
  const StoredWeight& stored = *pair.stored;
  const Weight source = stored.codec.is_keep() ? kept_weight(*pair.source) : pair.source->weight;
  if (source == stored.weight && pair.source->encoding == stored.source)
    return scale_mismatch(checkpoint, pair);
  Problem problem =
      weight_problem(pair.file->path(), stored.weight, "the weight is not the checkpoint's");
  const auto text = [](const Weight& weight, const std::string& encoding) {
    std::string out = fmt::format("{} {}", dtype_name(weight.dtype), weight.shape.to_string());
    if (encoding != encoding_name(weight.dtype)) out += " of " + quote(encoding);
    return out;
  };
  problem.found = text(stored.weight, stored.source);
  problem.want = text(source, pair.source->encoding);
  return problem;
}

/// Adds problems of comparisons, without those that check_all() has told already.
class ProblemList {
 public:
  explicit ProblemList(std::vector<Problem>& problems) : problems_(problems) {
    for (const Problem& problem : problems) known_.insert(to_string(problem));
  }
  void add(const std::vector<Problem>& more) {
    for (const Problem& problem : more)
      if (known_.insert(to_string(problem)).second) problems_.push_back(problem);
  }

 private:
  std::vector<Problem>& problems_;
  std::set<std::string> known_;
};

void compare(const ArtifactSet& artifact, const CodecRegistry& codecs, const Checkpoint& checkpoint,
             unsigned workers, Progress& progress, VerifyReport& report) {
  const std::vector<WeightPair> pairs = pair_weights(checkpoint, artifact, report.problems);
  std::vector<WeightComparison> results(pairs.size());
  const unsigned count = worker_count(workers, pairs.size());
  std::vector<WeightComparer> comparers;
  comparers.reserve(count);
  for (unsigned i = 0; i < count; ++i) comparers.emplace_back(checkpoint, codecs, progress);
  run_parallel(count, pairs.size(), [&](unsigned worker, std::uint64_t unit) {
    const WeightPair& pair = pairs[static_cast<std::size_t>(unit)];
    WeightComparison& result = results[static_cast<std::size_t>(unit)];
    if (auto problem = mismatch(checkpoint, pair)) {
      result.error = describe_error(*pair.stored);
      result.error.compared = result.error.exact = false;
      result.problems.push_back(std::move(*problem));
      return;
    }
    result = comparers[worker].compare(*pair.source, *pair.file, *pair.stored);
  });
  checkpoint.check_unchanged();
  ProblemList problems(report.problems);
  report.weights.reserve(results.size());
  for (WeightComparison& result : results) {
    problems.add(result.problems);
    report.weights.push_back(std::move(result.error));
  }
}

/// Null, and problems in the report, when the file does not open as an artifact.
std::unique_ptr<ArtifactSet> open(const std::string& path, Os& os, VerifyReport& report) {
  try {
    return std::make_unique<ArtifactSet>(path, os);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::artifact) throw;
    report.problems = error.problems();
    return nullptr;
  }
}

/// Values can be compared only with every codec at hand.
void require_codecs(const ArtifactSet& artifact, const CodecRegistry& codecs) {
  std::vector<Problem> missing = missing_codecs(artifact.path(), artifact.index().weights, codecs);
  if (!missing.empty()) throw Error(std::move(missing));
}

MemoryNeed memory_need(const ArtifactSet& artifact, const CodecRegistry& codecs,
                       const VerifyOptions& options) {
  const std::vector<StoredWeight>& weights = artifact.index().weights;
  MemoryNeed need;
  need.program_bytes = kProgramMemory;
  // Looking at the index takes a second one; a component has its number and its chunks.
  std::uint64_t index = memory_of(artifact) + memory_of(artifact.index()) + sums_bytes(artifact);
  for (const StoredWeight& weight : weights)
    index += weight.components.size() * 3 * sizeof(std::uint64_t);
  need.worker_bytes = saturating_add(kCheckBytes, inflater_bytes(artifact.index()));
  if (options.against != nullptr) {
    index += memory_of(*options.against);
    for (const StoredWeight& weight : weights)
      index += sizeof(WeightPair) + sizeof(WeightComparison) + sizeof(WeightError) +
               2 * heap_bytes(weight.weight.path);
    need.worker_bytes = saturating_add(need.worker_bytes, compare_buffers(weights, codecs));
  }
  need.index_bytes = round_up_index(index);
  need.worker_bytes = saturating_add(need.worker_bytes, kWorkerMemory);
  return need;
}

}  // namespace

VerifyReport verify(const std::string& artifact, const CodecRegistry& codecs,
                    const VerifyOptions& options, Os& os) {
  if (starts_as_gguf(os, artifact)) return verify_gguf(artifact, codecs, options, os);
  VerifyReport report;
  const std::unique_ptr<ArtifactSet> reader = open(artifact, os, report);
  if (reader == nullptr) return report;
  report.bytes = reader->file_bytes();
  if (options.against != nullptr) require_codecs(*reader, codecs);
  const unsigned workers =
      workers_within(memory_need(*reader, codecs, options),
                     worker_count(options.jobs, ~std::uint64_t{0}), options.max_memory, artifact);
  const std::uint64_t to_compare = options.against != nullptr ? options.against->data_bytes() : 0;
  Progress progress(options.progress, report.bytes + to_compare);
  report.problems = reader->check_all(
      &codecs, [&](std::uint64_t bytes) { progress.advance(bytes); }, workers);
  if (options.against != nullptr)
    compare(*reader, codecs, *options.against, workers, progress, report);
  return report;
}

}  // namespace synps
