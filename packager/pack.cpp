#include "synps/pack.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pack_buffers.h"
#include "pack_frames.h"
#include "pack_units.h"
#include "pack_worker.h"
#include "pieces.h"
#include "progress.h"
#include "synps/artifact_writer.h"
#include "synps/memory.h"
#include "synps/parallel.h"
#include "value_problems.h"
#include "work_units.h"

namespace synps {
namespace {

/// Analyses that are kept at a time; every one is an object of some kilobytes.
constexpr std::size_t kAnalysesAtOnce = 64;

/// Every weight once, and those that are analysed on the way twice.
std::uint64_t bytes_to_read(const Plan& plan, const std::vector<std::size_t>& analysed) {
  const auto bytes_of = [](const PlannedWeight& planned) {
    // Of a folded scale each piece reads a little, which is not told.
    return planned.source_bytes - (planned.scale ? planned.scale->tensor->bytes : 0);
  };
  std::uint64_t total = 0;
  for (const PlannedWeight& planned : plan.weights) total += bytes_of(planned);
  for (const std::size_t i : analysed) total += bytes_of(plan.weights[i]);
  return total;
}

/// The weights that are not in `analysed`.
std::vector<std::size_t> others(const Plan& plan, const std::vector<std::size_t>& analysed) {
  std::vector<std::size_t> weights;
  weights.reserve(plan.weights.size() - analysed.size());
  auto next = analysed.begin();
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    if (next != analysed.end() && *next == i)
      ++next;
    else
      weights.push_back(i);
  }
  return weights;
}

class Packer {
 public:
  Packer(const Checkpoint& checkpoint, const Plan& plan, const PackOptions& options,
         unsigned most_workers, AtomicFile& file)
      : checkpoint_(checkpoint),
        plan_(plan),
        options_(options),
        most_workers_(most_workers),
        writer_(file, plan.layout),
        analysed_(weights_to_analyse(plan)),
        progress_(options.progress,
                  bytes_to_read(plan, analysed_) + bytes_to_compress(plan.layout)),
        values_(plan.weights.size()) {}

  /// Writes every true byte of every weight. All weights are gone through before any is refused, so
  /// that one run names all that must change.
  void write_weights();

  /// Makes frames of what is to be compressed, and writes what tells of all. Returns what was
  /// written, where it is not what was planned.
  std::optional<ArtifactLayout> finish() {
    std::vector<PackWorker>().swap(
        workers_);  // the memory that they had is for those that compress
    pack_frames(writer_, plan_.layout, most_workers_, progress_);
    return writer_.finish();
  }

  std::vector<PackedWeightReport> findings() const;

 private:
  using Analyses = std::vector<std::unique_ptr<Analysis>>;  ///< of some analysed weights, in order

  void make_workers(std::uint64_t units);
  void run(std::uint64_t units, const std::function<void(PackWorker&, std::uint64_t)>& task);
  void pack_analysed(std::span<const std::size_t> weights);
  WorkUnits units_of(std::span<const std::size_t> weights) const;
  void encode_unit(PackWorker& worker, std::size_t weight, std::uint64_t unit,
                   const Analysis* analysis);
  void refuse_values() const;

  const Checkpoint& checkpoint_;
  const Plan& plan_;
  const PackOptions& options_;
  unsigned most_workers_;
  ArtifactWriter writer_;
  std::vector<std::size_t> analysed_;
  Progress progress_;
  std::vector<PackWorker> workers_;
  std::mutex values_mutex_;
  std::vector<ValueReport> values_;  ///< by weight; added to under the mutex
};

void Packer::make_workers(std::uint64_t units) {
  const PackBuffers buffers = pack_buffers(plan_);
  const unsigned count = worker_count(most_workers_, units);
  workers_.reserve(count);
  for (unsigned i = 0; i < count; ++i)
    workers_.emplace_back(PackTarget{checkpoint_, plan_, writer_, progress_}, buffers);
}

void Packer::run(std::uint64_t units, const std::function<void(PackWorker&, std::uint64_t)>& task) {
  run_parallel(worker_count(static_cast<unsigned>(workers_.size()), units), units,
               [&](unsigned worker, std::uint64_t unit) { task(workers_[worker], unit); });
}

void Packer::write_weights() {
  const std::vector<std::size_t> weights = others(plan_, analysed_);
  const WorkUnits units = units_of(weights);
  make_workers(std::max<std::uint64_t>(units.count(), analysed_.size()));
  run(units.count(), [&](PackWorker& worker, std::uint64_t number) {
    const WorkUnits::Unit unit = units.at(number);
    encode_unit(worker, weights[unit.item], unit.number, nullptr);
  });
  const std::span<const std::size_t> analysed(analysed_);
  for (std::size_t at = 0; at < analysed.size(); at += kAnalysesAtOnce)
    pack_analysed(analysed.subspan(at, std::min(kAnalysesAtOnce, analysed.size() - at)));
  checkpoint_.check_unchanged();
  refuse_values();
}

void Packer::pack_analysed(std::span<const std::size_t> weights) {
  Analyses analyses(weights.size());
  run(weights.size(), [&](PackWorker& worker, std::uint64_t number) {
    const auto i = static_cast<std::size_t>(number);
    const PlannedWeight& planned = plan_.weights[weights[i]];
    analyses[i] = planned.codec->begin_analysis(plan_.stored(planned).weight);
    worker.analyse(planned, *analyses[i]);
  });
  const WorkUnits units = units_of(weights);
  run(units.count(), [&](PackWorker& worker, std::uint64_t number) {
    const WorkUnits::Unit unit = units.at(number);
    encode_unit(worker, weights[unit.item], unit.number, analyses[unit.item].get());
  });
}

WorkUnits Packer::units_of(std::span<const std::size_t> weights) const {
  WorkUnits units;
  units.reserve(weights.size());
  for (const std::size_t i : weights) units.add(pack_units(plan_, plan_.weights[i]));
  return units;
}

void Packer::encode_unit(PackWorker& worker, std::size_t weight, std::uint64_t unit,
                         const Analysis* analysis) {
  const PlannedWeight& planned = plan_.weights[weight];
  if (planned.copied) {
    worker.copy(planned, unit);
    return;
  }
  ValueReport values;
  if (is_one_piece(plan_, planned)) {
    worker.encode_whole(planned, values);
  } else {
    const StoredWeight& stored = plan_.stored(planned);
    const std::uint64_t size = unit_elements(stored, *planned.codec);
    const std::uint64_t begin = unit * size;
    const std::uint64_t end = begin + std::min(size, stored.weight.shape.elements() - begin);
    worker.encode(planned, begin, end, analysis, values);
  }
  const std::lock_guard lock(values_mutex_);
  values_[weight].merge(values);
}

void Packer::refuse_values() const {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const PlannedWeight& planned = plan_.weights[i];
    if (planned.codec == nullptr) continue;
    auto problem = value_problem(checkpoint_, checkpoint_.tensors()[planned.tensor], *planned.codec,
                                 values_[i], options_.allow_overflow);
    if (problem) problems.push_back(std::move(*problem));
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

std::vector<PackedWeightReport> Packer::findings() const {
  std::vector<PackedWeightReport> findings;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i].overflow.count != 0 || values_[i].underflow.count != 0)
      findings.push_back({plan_.stored(plan_.weights[i]).weight.path, values_[i]});
  return findings;
}

/// A file of another size than was planned, or came of compressing, is never let through.
void check_size(Os& os, const AtomicFile& file, std::uint64_t planned) {
  FileStatus status;
  if (const int error = os.status(file.temporary_path(), false, status); error < 0)
    throw Error({.code = ErrorCode::io,
                 .file = file.temporary_path(),
                 .what = "cannot look at the temporary file: " + errno_text(error)});
  if (status.size != planned)
    throw Error({.code = ErrorCode::io,
                 .file = file.path(),
                 .what = "the artifact has not the planned size",
                 .found = fmt::format("{} bytes", status.size),
                 .want = fmt::format("{} bytes", planned)});
}

}  // namespace

PackReport pack(const Checkpoint& checkpoint, const Plan& plan, const std::string& output,
                const PackOptions& options, Os& os) {
  const unsigned workers =
      workers_within(pack_memory(checkpoint, plan), worker_count(options.jobs, ~std::uint64_t{0}),
                     options.max_memory, checkpoint.path());
  AtomicFile::Options file_options{.replace = options.replace, .inputs = checkpoint.inputs()};
  file_options.inputs.insert(file_options.inputs.end(), options.protected_files.begin(),
                             options.protected_files.end());
  AtomicFile file(os, output, std::move(file_options));
  Packer packer(checkpoint, plan, options, workers, file);
  packer.write_weights();
  std::optional<ArtifactLayout> written = packer.finish();
  const std::uint64_t bytes = written ? written->file_bytes : plan.artifact_bytes;
  check_size(os, file, bytes);
  file.commit();
  return {bytes, packer.findings(), std::move(written)};
}

}  // namespace synps
