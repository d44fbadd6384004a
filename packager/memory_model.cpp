#include "memory_model.h"

#include <algorithm>

#include "pack_buffers.h"
#include "pack_frames.h"
#include "pieces.h"
#include "planner.h"
#include "synps/checked.h"
#include "synps/memory.h"

namespace synps {
namespace {

/// What an allocation takes beside its bytes, rounding included.
constexpr std::uint64_t kAllocation = 24;
/// Characters that a string holds within itself.
constexpr std::size_t kShortString = 15;

std::uint64_t heap_of(const Component& component) noexcept {
  return heap_bytes(component.name) + heap_bytes(component.shape);
}

std::uint64_t heap_of(const PlannedWeight& planned) noexcept {
  return heap_bytes(planned.fallback_reason) + heap_bytes(planned.warning) +
         heap_bytes(planned.policy);
}

/// Of making the plan: what the policy says of every weight, before the plan has it.
std::uint64_t planning_bytes(const Plan& plan) noexcept {
  constexpr std::uint64_t kWeight =
      sizeof(WeightFacts) + sizeof(WeightResolution) + 2 * kAllocation;
  std::uint64_t bytes = plan.weights.size() * kWeight;
  for (const PlannedWeight& planned : plan.weights)
    if (planned.source != nullptr) bytes += sizeof(GivenWeight);
  for (const StoredWeight& stored : plan.layout.index.weights) {
    bytes += heap_bytes(stored.weight.path) + heap_bytes(stored.weight.shape);
    // A scale has facts too, which name its weight.
    if (stored.scale)
      bytes += kWeight + heap_bytes(stored.scale->path) + heap_bytes(stored.weight.path) +
               2 * heap_bytes(stored.weight.shape);
  }
  return bytes;
}

/// What else a GGUF output takes: its header's content, and a buffer that it is written through.
std::uint64_t memory_of(const GgufPlan& gguf) noexcept {
  constexpr std::uint64_t kHeaderBuffer = 1u << 16;
  std::uint64_t bytes = kHeaderBuffer + gguf.tensors.size() * sizeof(std::size_t);
  for (const PlannedKeyValue& each : gguf.key_values) bytes += sizeof each + heap_bytes(each.key);
  return bytes;
}

}  // namespace

std::uint64_t heap_bytes(const std::string& text) noexcept {
  return text.size() <= kShortString ? 0 : text.size() + 1 + kAllocation;
}

std::uint64_t heap_bytes(const Shape& shape) noexcept {
  return shape.rank() == 0 ? 0 : shape.rank() * sizeof(std::uint64_t) + kAllocation;
}

std::uint64_t heap_bytes(const StoredWeight& weight) noexcept {
  std::uint64_t bytes = heap_bytes(weight.weight.path) + heap_bytes(weight.weight.shape) +
                        heap_bytes(weight.source) + heap_bytes(weight.compute) +
                        heap_bytes(weight.codec.package) + heap_bytes(weight.codec.name) +
                        heap_bytes(weight.device) + 2 * kAllocation;
  for (const Decision& decision : weight.decisions)
    bytes += sizeof decision + heap_bytes(decision.key) + heap_bytes(decision.pattern);
  if (weight.scale) bytes += heap_bytes(weight.scale->path);
  if (!weight.history.empty()) bytes += kAllocation;
  for (const CodecRef& codec : weight.history)
    bytes += sizeof codec + heap_bytes(codec.package) + heap_bytes(codec.name);
  for (const StoredComponent& stored : weight.components)
    bytes += sizeof stored + heap_of(stored.component) + heap_bytes(stored.entry);
  return bytes;
}

std::uint64_t memory_of(const ArtifactIndex& index) noexcept {
  std::uint64_t bytes = index.weights.size() * sizeof(StoredWeight);
  for (const StoredWeight& weight : index.weights) bytes += heap_bytes(weight);
  return bytes;
}

std::uint64_t memory_of(const Checkpoint& checkpoint) noexcept {
  std::uint64_t bytes = checkpoint.tensors().size() * sizeof(SourceTensor);
  if (checkpoint.artifact() != nullptr) bytes += memory_of(*checkpoint.artifact());
  for (const SourceTensor& tensor : checkpoint.tensors())
    bytes += heap_bytes(tensor.weight.path) + heap_bytes(tensor.weight.shape) +
             heap_bytes(tensor.encoding);
  for (const CheckpointFault& fault : checkpoint.faults())
    bytes += sizeof fault + fault.tensors.size() * sizeof(std::size_t) + kAllocation;
  for (const auto& [key, value] : checkpoint.metadata()) bytes += 2 * (key.size() + value.size());
  for (const SourceKeyValue& each : checkpoint.key_values())
    bytes += sizeof each + heap_bytes(each.value.key);
  return bytes;
}

std::uint64_t memory_of(const Plan& plan) noexcept {
  std::uint64_t bytes = plan.weights.size() * sizeof(PlannedWeight);
  for (const PlannedWeight& planned : plan.weights) bytes += heap_of(planned);
  for (const auto& [key, value] : plan.layout.metadata) bytes += key.size() + value.size();
  for (const PlannedShard& shard : plan.shards) bytes += sizeof shard + memory_of(shard.plan);
  if (plan.gguf) bytes += memory_of(*plan.gguf);
  return bytes + memory_of(plan.layout.index);
}

std::uint64_t memory_of(const ArtifactReader& artifact) noexcept {
  // The index is mapped, copied for the parser, and becomes the parser's strings and nodes; so does
  // the header, but for the mapping.
  constexpr std::uint64_t kParsed = 4;
  return memory_of(artifact.index()) + kParsed * artifact.index_bytes() +
         2 * artifact.header_bytes();
}

std::uint64_t memory_of(const ArtifactSet& artifact) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& file : artifact.files()) bytes += memory_of(*file);
  // The index of all weights, and the shard index: its text, and twice its entries.
  if (artifact.is_sharded())
    bytes += memory_of(artifact.index()) + 6 * artifact.shard_index()->size();
  return bytes;
}

std::uint64_t sums_bytes(const ArtifactSet& artifact) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& file : artifact.files()) bytes = std::max(bytes, file->sums_bytes());
  return bytes;
}

std::uint64_t inflater_bytes(const ArtifactIndex& index) noexcept {
  return index.has_compressed() ? kInflaterBytes : 0;
}

std::uint64_t round_up_index(std::uint64_t bytes) noexcept {
  return (bytes / kIndexStep + 1) * kIndexStep;
}

MemoryNeed pack_memory(const Checkpoint& checkpoint, const Plan& plan) {
  // A report of values, and the number of its units.
  constexpr std::uint64_t kPackedWeight = sizeof(ValueReport) + 2 * sizeof(std::uint64_t);
  MemoryNeed need;
  need.program_bytes = kProgramMemory;
  need.index_bytes =
      round_up_index(memory_of(checkpoint) + memory_of(plan) + plan.weights.size() * kPackedWeight +
                     plan.layout.sums_bytes + plan.layout.chunk_count + planning_bytes(plan) +
                     plan.layout.index_bytes + plan.layout.header_bytes);
  // The index once more, with true sizes.
  if (plan.layout.has_bounds)
    need.index_bytes +=
        round_up_index(memory_of(plan.layout.index) +
                       plan.layout.chunk_count * sizeof(std::uint64_t) + plan.layout.header_bytes);
  // Shards are written one by one; their index, its text and the files' names stay.
  if (!plan.shards.empty()) need.index_bytes += round_up_index(4 * plan.shard_index_bytes);
  const PackBuffers buffers = pack_buffers(plan);
  // Workers encode first, and then, with other buffers, compress.
  std::uint64_t most = std::max(buffers.total(), frame_worker_bytes(plan.layout));
  if (const ArtifactSet* artifact = checkpoint.artifact()) {  // whose bytes they check before that
    need.index_bytes += round_up_index(sums_bytes(*artifact));
    most = std::max(most, kCheckBytes + inflater_bytes(artifact->index()));
  }
  need.worker_bytes = saturating_add(most, kWorkerMemory);
  need.long_rows_in = buffers.long_rows_in;
  return need;
}

}  // namespace synps
