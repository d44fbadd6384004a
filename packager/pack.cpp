#include "synps/pack.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "artifact_input.h"
#include "output_files.h"
#include "pack_buffers.h"
#include "pack_frames.h"
#include "pack_output.h"
#include "pack_trace.h"
#include "pack_units.h"
#include "pack_worker.h"
#include "pieces.h"
#include "progress.h"
#include "synps/artifact_shards.h"
#include "synps/file_set.h"
#include "synps/json_writer.h"
#include "synps/memory.h"
#include "synps/parallel.h"
#include "value_problems.h"
#include "work_units.h"

namespace synps {
namespace {

/// Analyses that are kept at a time; every one is an object of some kilobytes.
constexpr std::size_t kAnalysesAtOnce = 64;

/// Files of an earlier artifact that an error names.
constexpr std::size_t kEarlierTold = 10;

/// Descriptors that a pack has open beside those of its output files: inputs, folders, streams.
constexpr std::uint64_t kOtherDescriptors = 32;

/// Every weight once, and those that are analysed on the way twice.
std::uint64_t bytes_to_read(const Plan& plan, const std::vector<std::size_t>& analysed) {
  const auto bytes_of = [](const PlannedWeight& planned) {
    // Of a folded scale each piece reads a little, which is not told, and so of what an artifact
    // stores once a weight.
    std::uint64_t bytes = planned.source_bytes - (planned.scale ? planned.scale->tensor->bytes : 0);
    if (planned.source != nullptr && !planned.copied)
      for (const StoredComponent& each : planned.source->components)
        if (each.component.per_weight) bytes -= each.component.bytes;
    return bytes;
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

/// A file that is to be made, alone or as one of several.
struct FileWork {
  explicit FileWork(const Plan& planned)
      : plan(planned),
        analysed(weights_to_analyse(planned)),
        bytes(bytes_to_read(planned, analysed) + bytes_to_compress(planned.layout)) {}

  const Plan& plan;
  std::vector<std::size_t> analysed;
  std::uint64_t bytes = 0;  ///< that go through memory
};

/// Makes one file.
class Packer {
 public:
  Packer(const Checkpoint& checkpoint, const FileWork& work, const PackOptions& options,
         unsigned most_workers, AtomicFile& file, Progress& progress)
      : checkpoint_(checkpoint),
        plan_(work.plan),
        options_(options),
        most_workers_(most_workers),
        output_(make_pack_output(checkpoint, work.plan, file)),
        analysed_(work.analysed),
        progress_(progress),
        values_(work.plan.weights.size()) {
    if (options.trace != nullptr) trace_.emplace(*options.trace, checkpoint, work.plan);
  }

  /// Writes every true byte of every weight.
  void write_weights();
  /// What in the values a codec cannot store. All weights of all files are gone through before any
  /// is refused, so that one run names all that must change.
  std::vector<Problem> value_problems() const;

  /// Makes frames of what is to be compressed, and writes what tells of all. Returns what was
  /// written, where it is not what was planned.
  std::optional<ArtifactLayout> finish() {
    std::vector<PackWorker>().swap(
        workers_);  // the memory that they had is for those that compress
    std::optional<ArtifactLayout> written =
        output_->finish(most_workers_, progress_, trace_ ? &*trace_ : nullptr);
    if (trace_) trace_->tell(written ? written->index : plan_.layout.index);
    return written;
  }
  /// PackOutput::index_digest().
  const Digest* index_digest() const noexcept { return output_->index_digest(); }

  std::vector<PackedWeightReport> findings() const;

 private:
  using Analyses = std::vector<std::unique_ptr<Analysis>>;  ///< of some analysed weights, in order

  void make_workers(std::uint64_t units);
  void run(std::uint64_t units, const std::function<void(PackWorker&, std::uint64_t)>& task);
  void pack_analysed(std::span<const std::size_t> weights);
  WorkUnits units_of(std::span<const std::size_t> weights) const;
  /// Does work on a weight, and traces it.
  template <typename Work>
  void traced(PackWorker& worker, std::size_t weight, const Work& work);
  void encode_unit(PackWorker& worker, std::size_t weight, std::uint64_t unit,
                   const Analysis* analysis);

  const Checkpoint& checkpoint_;
  const Plan& plan_;
  const PackOptions& options_;
  unsigned most_workers_;
  std::unique_ptr<PackOutput> output_;
  const std::vector<std::size_t>& analysed_;
  Progress& progress_;
  std::vector<PackWorker> workers_;
  std::mutex values_mutex_;
  std::vector<ValueReport> values_;  ///< by weight; added to under the mutex
  std::optional<PackTrace> trace_;
};

template <typename Work>
void Packer::traced(PackWorker& worker, std::size_t weight, const Work& work) {
  if (!trace_) return work();
  UnitTime time;
  worker.measure(&time);
  time.begin = Stopwatch::Clock::now();
  work();
  time.end = Stopwatch::Clock::now();
  worker.measure(nullptr);
  trace_->add(plan_.weights[weight].stored, time);
}

void Packer::make_workers(std::uint64_t units) {
  const PackBuffers buffers = pack_buffers(plan_);
  const unsigned count = worker_count(most_workers_, units);
  workers_.reserve(count);
  for (unsigned i = 0; i < count; ++i)
    workers_.emplace_back(PackContext{checkpoint_, plan_, output_->writer(), progress_}, buffers);
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
    traced(worker, weights[unit.item],
           [&] { encode_unit(worker, weights[unit.item], unit.number, nullptr); });
  });
  const std::span<const std::size_t> analysed(analysed_);
  for (std::size_t at = 0; at < analysed.size(); at += kAnalysesAtOnce)
    pack_analysed(analysed.subspan(at, std::min(kAnalysesAtOnce, analysed.size() - at)));
  checkpoint_.check_unchanged();
}

void Packer::pack_analysed(std::span<const std::size_t> weights) {
  Analyses analyses(weights.size());
  run(weights.size(), [&](PackWorker& worker, std::uint64_t number) {
    const auto i = static_cast<std::size_t>(number);
    const PlannedWeight& planned = plan_.weights[weights[i]];
    analyses[i] = planned.codec->begin_analysis(plan_.stored(planned).weight);
    traced(worker, weights[i], [&] { worker.analyse(planned, *analyses[i]); });
  });
  const WorkUnits units = units_of(weights);
  run(units.count(), [&](PackWorker& worker, std::uint64_t number) {
    const WorkUnits::Unit unit = units.at(number);
    traced(worker, weights[unit.item], [&] {
      encode_unit(worker, weights[unit.item], unit.number, analyses[unit.item].get());
    });
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

std::vector<Problem> Packer::value_problems() const {
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const PlannedWeight& planned = plan_.weights[i];
    if (planned.codec == nullptr) continue;
    auto problem = value_problem(checkpoint_, checkpoint_.tensors()[planned.tensor], *planned.codec,
                                 values_[i], options_.allow_overflow);
    if (problem) problems.push_back(std::move(*problem));
  }
  return problems;
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
                 .what = "the output has not the planned size",
                 .found = fmt::format("{} bytes", status.size),
                 .want = fmt::format("{} bytes", planned)});
}

/// All of a pack, whatever the files.
struct PackJob {
  const Checkpoint& checkpoint;
  const Plan& plan;
  const std::string& output;
  const PackOptions& options;
  Os& os;
  unsigned workers = 0;
};

/// Of an artifact, all bytes of weights before they are read for their values.
std::uint64_t bytes_to_check(const PackJob& job) {
  const ArtifactSet* artifact = job.checkpoint.artifact();
  return artifact == nullptr ? 0 : artifact->index().stored_bytes();
}

void check_source(const PackJob& job, Progress& progress) {
  const ArtifactSet* artifact = job.checkpoint.artifact();
  if (artifact != nullptr) check_artifact_values(*artifact, job.workers, progress);
}

AtomicFile::Options file_options(const Checkpoint& checkpoint, const PackOptions& options) {
  AtomicFile::Options file{.replace = options.replace, .inputs = checkpoint.inputs()};
  file.inputs.insert(file.inputs.end(), options.protected_files.begin(),
                     options.protected_files.end());
  return file;
}

PackReport pack_one_file(const PackJob& job) {
  AtomicFile file(job.os, job.output, file_options(job.checkpoint, job.options));
  reclaim_temporaries(job.os, job.output, {job.output});
  const FileWork work(job.plan);
  Progress progress(job.options.progress, work.bytes + bytes_to_check(job));
  check_source(job, progress);
  Packer packer(job.checkpoint, work, job.options, job.workers, file, progress);
  packer.write_weights();
  if (auto problems = packer.value_problems(); !problems.empty()) throw Error(std::move(problems));
  std::optional<ArtifactLayout> written = packer.finish();
  const std::uint64_t bytes = written ? written->file_bytes : job.plan.artifact_bytes;
  check_size(job.os, file, bytes);
  file.commit();
  PackReport report;
  report.artifact_bytes = bytes;
  report.findings = packer.findings();
  report.layout = std::move(written);
  return report;
}

/// Makes shards one after the other, and their index; or parts of a GGUF file, which have none.
class ShardPacker {
 public:
  explicit ShardPacker(const PackJob& job)
      : job_(job),
        folder_(folder_of(job.output)),
        files_(job.os, output_files(job.plan, job.output).back(),
               file_options(job.checkpoint, job.options)) {
    reclaim_temporaries(job.os, job.output, output_files(job.plan, job.output));
    if (job.plan.layout.has_bounds) report_.layout = job.plan.layout;
  }

  PackReport run() {
    std::vector<FileWork> work;
    work.reserve(job_.plan.shards.size());
    std::uint64_t bytes = 0;
    for (const PlannedShard& shard : job_.plan.shards) bytes += work.emplace_back(shard.plan).bytes;
    Progress progress(job_.options.progress, bytes + bytes_to_check(job_));
    check_source(job_, progress);
    for (std::size_t i = 0; i < work.size(); ++i)
      pack_shard(job_.plan.shards[i], work[i], progress);
    if (!problems_.empty()) throw Error(std::move(problems_));
    if (!job_.plan.shard_index.empty()) write_index();
    if (report_.layout) {
      report_.layout->file_bytes = report_.artifact_bytes;
      report_.layout->has_bounds = false;
    }
    files_.commit();
    std::sort(report_.findings.begin(), report_.findings.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(report_);
  }

 private:
  void pack_shard(const PlannedShard& shard, const FileWork& work, Progress& progress) {
    const std::string path = folder_ + shard.file;
    AtomicFile& file = path == files_.leader().path() ? files_.leader() : files_.next(path);
    Packer packer(job_.checkpoint, work, job_.options, job_.workers, file, progress);
    packer.write_weights();
    append(problems_, packer.value_problems());
    if (!problems_.empty()) return;  // nothing will be written; the others are still looked at
    append(report_.findings, packer.findings());
    const std::optional<ArtifactLayout> written = packer.finish();
    const ArtifactLayout& layout = written ? *written : shard.plan.layout;
    check_size(job_.os, file, layout.file_bytes);
    add_file(shard.file, layout.file_bytes);
    if (packer.index_digest() != nullptr)
      index_.add(shard.file, *packer.index_digest(), layout.index);
    if (written) take_sizes(written->index);
  }

  template <typename T>
  static void append(std::vector<T>& to, std::vector<T> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  void add_file(const std::string& name, std::uint64_t bytes) {
    report_.files.push_back({name, bytes});
    report_.artifact_bytes += bytes;
  }

  /// What frames turned out to take, into the layout of all.
  void take_sizes(const ArtifactIndex& written) {
    auto& weights = report_.layout->index.weights;
    auto at = weights.begin();
    for (const StoredWeight& weight : written.weights) {
      at = std::lower_bound(at, weights.end(), weight.weight.path,
                            [](const StoredWeight& each, const std::string& path) {
                              return each.weight.path < path;
                            });
      at->components = weight.components;
    }
  }

  void write_index() {
    index_.sort();
    const std::string json = to_json(index_);
    files_.leader().write(0, std::as_bytes(std::span(json)));
    check_size(job_.os, files_.leader(), json.size());
    add_file(job_.plan.shard_index, json.size());
  }

  const PackJob& job_;
  std::string folder_;
  AtomicFileSet files_;
  ArtifactShards index_;
  std::vector<Problem> problems_;
  PackReport report_;
};

/// A name that those who open it would take for something else is none for an artifact.
void check_name(const Plan& plan, const std::string& output) {
  Problem problem{.code = ErrorCode::usage, .file = output};
  if (output.ends_with(kShardIndexEnd)) {
    problem.what = "the name is that of the index of files";
    problem.want = "a name that does not end with " + quote(kShardIndexEnd);
    problem.hint =
        "name the artifact itself; where it becomes several files, their index is called "
        "after it";
  } else if (!plan.shards.empty() && !is_utf8(file_name_of(output))) {
    problem.what = "several files cannot be called after this name, which their index has to hold";
    problem.want = "a name in UTF-8";
  } else {
    return;
  }
  throw Error(std::move(problem));
}

/// Every file stays open until all have their names.
void check_descriptors(const Plan& plan, const std::string& output) {
  const std::uint64_t wanted = plan.shards.size() + kOtherDescriptors;
  const std::uint64_t most = most_descriptors();
  if (plan.shards.empty() || wanted <= most) return;
  throw Error({.code = ErrorCode::limit,
               .file = output,
               .what = "the artifact would be more files than may be open at a time",
               .found = fmt::format("{} files, and {} descriptors", plan.shards.size(), most),
               .want = fmt::format("at least {} descriptors", wanted),
               .hint = "allow larger files (--max-shard-size), or raise the limit (ulimit -n)"});
}

}  // namespace

std::vector<std::string> output_files(const Plan& plan, const std::string& output) {
  if (plan.shards.empty()) return {output};
  const std::string folder = folder_of(output);
  std::vector<std::string> files;
  files.reserve(plan.shards.size() + 1);
  for (const PlannedShard& shard : plan.shards) files.push_back(folder + shard.file);
  if (!plan.shard_index.empty())
    files.push_back(folder + plan.shard_index);
  else  // the first part, which all others belong to
    std::rotate(files.begin(), files.begin() + 1, files.end());
  return files;
}

std::vector<std::string> check_output(const Checkpoint& checkpoint, const Plan& plan,
                                      const std::string& output, const PackOptions& options,
                                      Os& os) {
  if (!plan.shards.empty())
    if (const std::string first = shard_name(file_name_of(output), 0, plan.shards.size());
        plan.shards.front().file != first)
      throw Error({.code = ErrorCode::usage,
                   .file = output,
                   .what = "the plan is for files of another name",
                   .found = quote(plan.shards.front().file),
                   .want = quote(first)});
  const AtomicFile::Options file = file_options(checkpoint, options);
  const std::vector<std::string> written = output_files(plan, output);
  for (const std::string& path : written) AtomicFile::check(os, path, file);
  check_name(plan, output);
  check_descriptors(plan, output);
  std::vector<std::string> earlier = earlier_files(output, written);
  if (earlier.empty() || options.replace) return earlier;
  Problem problem{.code = ErrorCode::output, .file = output};
  problem.what = "files of another artifact of this name are in the folder";
  for (std::size_t i = 0; i < earlier.size() && i < kEarlierTold; ++i) {
    if (i != 0) problem.found += ", ";
    problem.found += quote(earlier[i]);
  }
  if (earlier.size() > kEarlierTold)
    problem.found += fmt::format(" and {} more", earlier.size() - kEarlierTold);
  problem.hint = "remove them, use --force to leave them there, or choose another name";
  throw Error(std::move(problem));
}

PackReport pack(const Checkpoint& checkpoint, const Plan& plan, const std::string& output,
                const PackOptions& options, Os& os) {
  MemoryNeed need = pack_memory(checkpoint, plan);
  if (options.trace != nullptr) need.index_bytes += PackTrace::memory(plan);
  const unsigned workers = workers_within(need, worker_count(options.jobs, ~std::uint64_t{0}),
                                          options.max_memory, checkpoint.path());
  std::vector<std::string> earlier = check_output(checkpoint, plan, output, options, os);
  const PackJob job{checkpoint, plan, output, options, os, workers};
  PackReport report = plan.shards.empty() ? pack_one_file(job) : ShardPacker(job).run();
  report.earlier = std::move(earlier);
  return report;
}

}  // namespace synps
