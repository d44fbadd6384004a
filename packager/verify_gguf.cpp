#include "verify_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "checkpoint_files.h"
#include "compare_gguf.h"
#include "memory_model.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/gguf.h"
#include "synps/memory.h"
#include "synps/parallel.h"

namespace synps {
namespace {

/// The most weights that are missing, and get a problem each.
constexpr std::size_t kToldSingly = 10;

/// Null, and problems in the report, when the file is no sound GGUF.
std::unique_ptr<Checkpoint> open(const std::string& path, Os& os, VerifyReport& report) {
  try {
    return std::make_unique<Checkpoint>(Checkpoint::open(path, os));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::checkpoint) throw;
    report.problems = error.problems();
    for (Problem& problem : report.problems) problem.code = ErrorCode::artifact;
    return nullptr;
  }
}

/// Nothing else has the names and key-values that are compared.
void require_gguf(const Checkpoint& checkpoint) {
  if (checkpoint.gguf_version() != 0) return;
  throw Error({.code = ErrorCode::usage,
               .file = checkpoint.path(),
               .what = "a GGUF file can only be compared with a GGUF checkpoint",
               .found = "safetensors",
               .hint = "compare it with the GGUF checkpoint that it was packed from"});
}

struct TensorPair {
  const SourceTensor* source = nullptr;
  const SourceTensor* stored = nullptr;
};

std::vector<const SourceTensor*> weights_of(const Checkpoint& checkpoint) {
  std::vector<const SourceTensor*> weights;
  for (const SourceTensor& tensor : checkpoint.tensors())
    if (!is_key_value_encoding(tensor.encoding)) weights.push_back(&tensor);
  return weights;
}

/// Weights that one side lacks: a problem each, or one for all when they are many.
void add_lacking(const Checkpoint& written, const std::vector<const SourceTensor*>& lacking,
                 std::size_t of, const char* one, const char* many,
                 std::vector<Problem>& problems) {
  Problem problem{.code = ErrorCode::artifact, .file = written.path(), .what = one};
  if (lacking.size() > kToldSingly) {
    problem.what = many;
    problem.found = fmt::format("{} of {}, such as {}", lacking.size(), of,
                                quote(lacking.front()->weight.path));
    problems.push_back(std::move(problem));
    return;
  }
  for (const SourceTensor* tensor : lacking) {
    problem.field = tensor->weight.path;
    problems.push_back(problem);
  }
}

/// Tensors that both have; problems for the others.
std::vector<TensorPair> pair_tensors(const Checkpoint& checkpoint, const Checkpoint& written,
                                     std::vector<Problem>& problems) {
  std::vector<const SourceTensor*> only_in_source;
  std::vector<const SourceTensor*> only_in_file;
  const std::vector<const SourceTensor*> wanted = weights_of(checkpoint);
  const std::vector<const SourceTensor*> found = weights_of(written);
  std::vector<TensorPair> pairs;
  std::size_t w = 0;
  std::size_t f = 0;
  while (w < wanted.size() || f < found.size()) {
    const int order = w == wanted.size()  ? 1
                      : f == found.size() ? -1
                                          : wanted[w]->weight.path.compare(found[f]->weight.path);
    if (order < 0)
      only_in_source.push_back(wanted[w++]);
    else if (order > 0)
      only_in_file.push_back(found[f++]);
    else
      pairs.push_back({wanted[w++], found[f++]});
  }
  add_lacking(written, only_in_source, wanted.size(), "the checkpoint's weight is not in the file",
              "weights of the checkpoint are not in the file", problems);
  add_lacking(written, only_in_file, found.size(), "the weight is not in the checkpoint",
              "weights are not in the checkpoint", problems);
  return pairs;
}

/// Tensors are in the checkpoint's order, where both have the same.
void check_sequence(std::vector<TensorPair> pairs, const Checkpoint& written,
                    std::vector<Problem>& problems) {
  std::sort(pairs.begin(), pairs.end(), [](const TensorPair& a, const TensorPair& b) {
    return a.source->position < b.source->position;
  });
  const auto out =
      std::adjacent_find(pairs.begin(), pairs.end(), [](const TensorPair& a, const TensorPair& b) {
        return a.stored->position > b.stored->position;
      });
  if (out == pairs.end()) return;
  problems.push_back({.code = ErrorCode::artifact,
                      .file = written.path(),
                      .what = "the tensor is out of the checkpoint's sequence",
                      .field = (out + 1)->stored->weight.path});
}

MemoryNeed memory_need(const Checkpoint& written, const Checkpoint& checkpoint,
                       const CodecRegistry& codecs) {
  std::uint64_t index = memory_of(written) + memory_of(checkpoint);
  for (const SourceTensor& tensor : written.tensors())
    index += sizeof(TensorPair) + sizeof(TensorComparison) + sizeof(WeightError) +
             2 * heap_bytes(tensor.weight.path);
  MemoryNeed need;
  need.program_bytes = kProgramMemory;
  need.index_bytes = round_up_index(index);
  CompareNeed buffers;
  for (const SourceTensor& tensor : written.tensors()) {
    const ComparedTensor side{&written, &tensor, source_codec(codecs, weight_facts(tensor))};
    buffers.add(side, side);
  }
  need.worker_bytes = saturating_add(buffers.bytes(), kWorkerMemory);
  return need;
}

void compare(const Checkpoint& written, const CodecRegistry& codecs, const Checkpoint& checkpoint,
             unsigned most_workers, Progress& progress, VerifyReport& report) {
  report.problems = compare_key_values(checkpoint, written);
  const std::vector<TensorPair> pairs = pair_tensors(checkpoint, written, report.problems);
  check_sequence(pairs, written, report.problems);
  std::vector<TensorComparison> results(pairs.size());
  const unsigned workers = worker_count(most_workers, pairs.size());
  std::vector<TensorComparer> comparers;
  comparers.reserve(workers);
  for (unsigned i = 0; i < workers; ++i)
    comparers.emplace_back(checkpoint, written, codecs, progress);
  run_parallel(workers, pairs.size(), [&](unsigned worker, std::uint64_t unit) {
    const TensorPair& pair = pairs[static_cast<std::size_t>(unit)];
    results[static_cast<std::size_t>(unit)] = comparers[worker].compare(*pair.source, *pair.stored);
  });
  checkpoint.check_unchanged();
  for (TensorComparison& result : results) {
    if (result.problem) report.problems.push_back(std::move(*result.problem));
    report.weights.push_back(std::move(result.error));
  }
}

}  // namespace

bool starts_as_gguf(Os& os, const std::string& path) {
  FileStatus status;
  if (os.status(path, true, status) == 0 && status.kind == FileStatus::Kind::directory)
    return !ArtifactSet::recognises(path, os) && holds_gguf_alone(path);
  const InputFile file(os, path, ErrorCode::artifact);
  std::array<char, 4> head;
  const auto size = std::min<std::uint64_t>(head.size(), file.size());
  file.read(0, std::as_writable_bytes(std::span(head)).first(size));
  return is_gguf({head.data(), size});
}

VerifyReport verify_gguf(const std::string& path, const CodecRegistry& codecs,
                         const VerifyOptions& options, Os& os) {
  VerifyReport report;
  report.has_checksums = false;
  if (options.against != nullptr) require_gguf(*options.against);
  const std::unique_ptr<Checkpoint> written = open(path, os, report);
  if (written == nullptr) return report;
  for (const InputFile& file : written->files()) report.bytes += file.size();
  if (options.against == nullptr) return report;
  const unsigned workers =
      workers_within(memory_need(*written, *options.against, codecs),
                     worker_count(options.jobs, ~std::uint64_t{0}), options.max_memory, path);
  Progress progress(options.progress, written->data_bytes() + options.against->data_bytes());
  compare(*written, codecs, *options.against, workers, progress, report);
  return report;
}

}  // namespace synps
