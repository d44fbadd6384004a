#include "synps/unpack.h"

#include "artifact_input.h"
#include "memory_model.h"
#include "progress.h"
#include "safetensors_output.h"
#include "stored_reader.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/memory.h"
#include "synps/parallel.h"
#include "synps/stored_codec.h"
#include "unpack_worker.h"
#include "work_units.h"

namespace synps {
namespace {

[[noreturn]] void cannot_decode(const ArtifactReader& artifact, const StoredWeight& stored,
                                std::string what) {
  throw Error({.code = ErrorCode::artifact,
               .file = artifact.path(),
               .what = std::move(what),
               .field = stored.weight.path,
               .found = stored.codec.id()});
}

/// The source dtype where the codec holds each of its values, else f32, which holds every value
/// that any codec decodes to.
UnpackedWeight plan_weight(const ArtifactReader& artifact, const StoredWeight& stored,
                           const CodecRegistry& codecs) {
  if (stored_as_source(stored)) return {&artifact, &stored, nullptr, nullptr};
  const Codec* codec = require_stored_codec(codecs, stored, artifact.path());
  if (codec == nullptr) {
    std::string fault = component_fault(stored, codec);
    cannot_decode(artifact, stored, fault.empty() ? "nothing decodes this weight" : fault);
  }
  require_components(artifact, stored, *codec);
  const DType source = stored.weight.dtype;
  const bool lossless = stored.lossless && codec->info().stores_exactly(source);
  const Codec* dense = lossless ? codecs.for_dtype(source) : nullptr;
  if (dense == nullptr || !dense->info().encodes) dense = codecs.for_dtype(DType::f32);
  if (dense == nullptr) cannot_decode(artifact, stored, "no codec writes f32");
  return {&artifact, &stored, codec, dense};
}

class Unpacker {
 public:
  Unpacker(const ArtifactSet& artifact, const CodecRegistry& codecs, const UnpackOptions& options,
           const std::string& output)
      : artifact_(artifact), options_(options) {
    for (std::size_t i = 0; i < artifact.index().weights.size(); ++i)
      add(artifact.file_of(i), artifact.index().weights[i], codecs);
    layout_ = lay_out_safetensors(entries_, artifact.source_metadata(), output);
  }

  MemoryNeed memory() const;
  void write(AtomicFile& file, unsigned most_workers);
  UnpackReport report() const { return {layout_.file_bytes, widened_}; }

 private:
  void add(const ArtifactReader& artifact, const StoredWeight& stored, const CodecRegistry& codecs);

  const ArtifactSet& artifact_;
  const UnpackOptions& options_;
  std::vector<UnpackedWeight> weights_;
  std::vector<SafetensorsEntry> entries_;  ///< one a weight
  SafetensorsLayout layout_;
  std::vector<std::string> widened_;
};

void Unpacker::add(const ArtifactReader& artifact, const StoredWeight& stored,
                   const CodecRegistry& codecs) {
  const UnpackedWeight weight = plan_weight(artifact, stored, codecs);
  const DType dtype =
      weight.dense != nullptr ? *weight.dense->info().dense_dtype : stored.weight.dtype;
  if (dtype != stored.weight.dtype) widened_.push_back(stored.weight.path);
  weights_.push_back(weight);
  entries_.push_back({stored.weight.path, dtype, stored.weight.shape, 0, 0});
}

MemoryNeed Unpacker::memory() const {
  // The entry, its unit, its place in order, and what it takes in the header while that is made.
  constexpr std::uint64_t kEntry = sizeof(SafetensorsEntry) + 4 * sizeof(std::uint64_t);
  MemoryNeed need;
  need.program_bytes = kProgramMemory;
  std::uint64_t index = memory_of(artifact_) + 3 * layout_.header.size() + sums_bytes(artifact_);
  for (const SafetensorsEntry& entry : entries_)
    index += kEntry + sizeof(UnpackedWeight) + heap_bytes(entry.name) + heap_bytes(entry.shape);
  for (const std::string& path : widened_) index += sizeof path + heap_bytes(path);
  need.index_bytes = round_up_index(index);
  need.worker_bytes = saturating_add(unpack_buffers(weights_), kWorkerMemory + kCheckBytes);
  need.worker_bytes += inflater_bytes(artifact_.index());
  return need;
}

void Unpacker::write(AtomicFile& file, unsigned most_workers) {
  const std::uint64_t data_bytes = layout_.file_bytes - layout_.header.size();
  Progress progress(options_.progress, data_bytes + artifact_.index().stored_bytes());
  check_artifact_values(artifact_, most_workers, progress);
  file.allocate(layout_.file_bytes);
  file.write(0, std::as_bytes(std::span<const char>(layout_.header)));

  WorkUnits units;
  units.reserve(weights_.size());
  for (const std::size_t i : layout_.order) units.add(unpack_units(weights_[i]));
  const unsigned count = worker_count(most_workers, units.count());
  std::vector<UnpackWorker> workers;
  workers.reserve(count);
  for (unsigned i = 0; i < count; ++i) workers.emplace_back(artifact_.file_of(0), file, progress);
  run_parallel(count, units.count(), [&](unsigned worker, std::uint64_t number) {
    const WorkUnits::Unit unit = units.at(number);
    const std::size_t i = layout_.order[unit.item];
    workers[worker].write(weights_[i], layout_.header.size() + entries_[i].begin, unit.number);
  });
}

}  // namespace

UnpackReport unpack(const std::string& artifact, const std::string& output,
                    const CodecRegistry& codecs, const UnpackOptions& options, Os& os) {
  const ArtifactSet reader(artifact, os);
  if (auto missing = missing_codecs(artifact, reader.index().weights, codecs); !missing.empty())
    throw Error(std::move(missing));
  Unpacker unpacker(reader, codecs, options, output);
  const unsigned workers =
      workers_within(unpacker.memory(), worker_count(options.jobs, ~std::uint64_t{0}),
                     options.max_memory, artifact);
  AtomicFile::Options file_options{.replace = options.replace, .inputs = options.protected_files};
  for (const FileIdentity& input : reader.inputs()) file_options.inputs.push_back(input);
  AtomicFile file(os, output, std::move(file_options));
  unpacker.write(file, workers);
  check_artifact_unchanged(reader);
  file.commit();
  return unpacker.report();
}

}  // namespace synps
