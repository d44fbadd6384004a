#include "verify_gguf.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "compare_gguf.h"
#include "memory_model.h"
#include "synps/checked.h"
#include "synps/gguf.h"
#include "synps/memory.h"
#include "synps/parallel.h"

namespace synps {
namespace {

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

/// Tensors that both have; problems for the others.
std::vector<TensorPair> pair_tensors(const Checkpoint& checkpoint, const Checkpoint& written,
                                     std::vector<Problem>& problems) {
  const auto lacking = [&](const SourceTensor& tensor, const char* what) {
    problems.push_back({.code = ErrorCode::artifact,
                        .file = written.path(),
                        .what = what,
                        .field = tensor.weight.path});
  };
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
      lacking(*wanted[w++], "the checkpoint's weight is not in the file");
    else if (order > 0)
      lacking(*found[f++], "the weight is not in the checkpoint");
    else
      pairs.push_back({wanted[w++], found[f++]});
  }
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
  need.worker_bytes =
      saturating_add(tensor_compare_buffers(written.tensors(), codecs), kWorkerMemory);
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
    return false;  // it may hold an artifact in several files
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
  if (options.against != nullptr) check_output_kind(*options.against, OutputKind::gguf);
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
