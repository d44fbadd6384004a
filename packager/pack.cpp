#include "synps/pack.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "pack_frames.h"
#include "pack_worker.h"
#include "parallel.h"
#include "pieces.h"
#include "synps/artifact_writer.h"
#include "value_problems.h"

namespace synps {
namespace {

/// The work of a pack, as numbered units that depend on nothing but their number: chunks of
/// weights, in the sequence of paths. Keeps one number a weight.
class Units {
 public:
  explicit Units(const Plan& plan) : plan_(plan) {
    ends_.reserve(plan.weights.size());
    std::uint64_t end = 0;
    for (const PlannedWeight& planned : plan.weights) ends_.push_back(end += units_of(planned));
  }

  std::uint64_t count() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  struct Unit {
    std::size_t weight = 0;    ///< index into plan.weights
    std::uint64_t number = 0;  ///< of the unit in its weight
  };
  Unit at(std::uint64_t unit) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), unit);
    const std::uint64_t begin = end == ends_.begin() ? 0 : *std::prev(end);
    return {static_cast<std::size_t>(end - ends_.begin()), unit - begin};
  }

 private:
  std::uint64_t units_of(const PlannedWeight& planned) const {
    const StoredWeight& stored = plan_.stored(planned);
    if (planned.copied) return stored.components.front().chunks();
    const std::uint64_t elements = stored.weight.shape.elements();
    const std::uint64_t unit = unit_elements(stored, *planned.codec);
    return elements / unit + (elements % unit != 0 ? 1 : 0);
  }

  const Plan& plan_;
  std::vector<std::uint64_t> ends_;  ///< units of all weights up to and including this one
};

/// Analyses of the weights whose codec must see them whole first; null for the others. By weight.
std::vector<std::unique_ptr<Analysis>> begin_analyses(const Plan& plan) {
  std::vector<std::unique_ptr<Analysis>> analyses(plan.weights.size());
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    const PlannedWeight& planned = plan.weights[i];
    if (planned.codec != nullptr)
      analyses[i] = planned.codec->begin_analysis(plan.stored(planned).weight);
  }
  return analyses;
}

/// Every weight once, and those with an analysis twice.
std::uint64_t bytes_to_read(const Plan& plan,
                            const std::vector<std::unique_ptr<Analysis>>& analyses) {
  std::uint64_t total = plan.source_bytes;
  for (std::size_t i = 0; i < analyses.size(); ++i)
    if (analyses[i] != nullptr) total += plan.weights[i].source_bytes;
  return total;
}

class Packer {
 public:
  Packer(const Checkpoint& checkpoint, const Plan& plan, const PackOptions& options,
         AtomicFile& file)
      : checkpoint_(checkpoint),
        plan_(plan),
        options_(options),
        writer_(file, plan.layout),
        analyses_(begin_analyses(plan)),
        progress_(options.progress,
                  bytes_to_read(plan, analyses_) + bytes_to_compress(plan.layout)),
        values_(plan.weights.size()) {}

  /// Writes every true byte of every weight. All weights are gone through before any is refused, so
  /// that one run names all that must change.
  void write_weights() {
    analyse();
    encode();
    checkpoint_.check_unchanged();
    refuse_values();
  }

  /// Makes frames of what is to be compressed, and writes what tells of all. Returns what was
  /// written.
  ArtifactLayout finish() {
    pack_frames(writer_, plan_.layout,
                worker_count(options_.jobs, chunks_to_compress(plan_.layout)), progress_);
    return writer_.finish();
  }

  std::vector<PackedWeightReport> findings() const;

 private:
  void analyse();
  void encode();
  void refuse_values() const;
  std::vector<PackWorker> make_workers(std::uint64_t units);

  const Checkpoint& checkpoint_;
  const Plan& plan_;
  const PackOptions& options_;
  ArtifactWriter writer_;
  std::vector<std::unique_ptr<Analysis>> analyses_;
  Progress progress_;
  std::mutex values_mutex_;
  std::vector<ValueReport> values_;  ///< by weight; added to under the mutex
};

std::vector<PackWorker> Packer::make_workers(std::uint64_t units) {
  std::vector<PackWorker> workers;
  const unsigned count = worker_count(options_.jobs, units);
  workers.reserve(count);
  for (unsigned i = 0; i < count; ++i)
    workers.emplace_back(PackTarget{checkpoint_, plan_, writer_, progress_});
  return workers;
}

void Packer::analyse() {
  std::vector<std::size_t> weights;
  for (std::size_t i = 0; i < analyses_.size(); ++i)
    if (analyses_[i] != nullptr) weights.push_back(i);
  std::vector<PackWorker> workers = make_workers(weights.size());
  run_parallel(static_cast<unsigned>(workers.size()), weights.size(),
               [&](unsigned worker, std::uint64_t unit) {
                 const std::size_t weight = weights[static_cast<std::size_t>(unit)];
                 workers[worker].analyse(plan_.weights[weight], *analyses_[weight]);
               });
}

void Packer::encode() {
  const Units units(plan_);
  std::vector<PackWorker> workers = make_workers(units.count());
  run_parallel(static_cast<unsigned>(workers.size()), units.count(),
               [&](unsigned worker, std::uint64_t number) {
                 const Units::Unit unit = units.at(number);
                 const PlannedWeight& planned = plan_.weights[unit.weight];
                 if (planned.copied) {
                   workers[worker].copy(planned, unit.number);
                   return;
                 }
                 const StoredWeight& stored = plan_.stored(planned);
                 const std::uint64_t size = unit_elements(stored, *planned.codec);
                 const std::uint64_t begin = unit.number * size;
                 const std::uint64_t end =
                     begin + std::min(size, stored.weight.shape.elements() - begin);
                 ValueReport values;
                 workers[worker].encode(planned, begin, end, analyses_[unit.weight].get(), values);
                 const std::lock_guard lock(values_mutex_);
                 values_[unit.weight].merge(values);
               });
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
  AtomicFile::Options file_options{.replace = options.replace, .inputs = checkpoint.inputs()};
  file_options.inputs.insert(file_options.inputs.end(), options.protected_files.begin(),
                             options.protected_files.end());
  AtomicFile file(os, output, std::move(file_options));
  Packer packer(checkpoint, plan, options, file);
  packer.write_weights();
  ArtifactLayout written = packer.finish();
  check_size(os, file, written.file_bytes);
  file.commit();
  return {written.file_bytes, packer.findings(), std::move(written)};
}

}  // namespace synps
