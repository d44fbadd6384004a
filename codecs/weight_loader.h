#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chunk_source.h"
#include "heap_bytes.h"
#include "synps/artifact_set.h"
#include "synps/form_resolver.h"
#include "synps/trace.h"

namespace synps {

/// Puts weights on the heap, in the form that was decided, chunk by chunk: what is converted goes
/// through a buffer. Sizes are those of load_memory.h. For one thread, weights one after the other.
class WeightLoader {
 public:
  /// All outlive the loader. `verify`: whether digests are compared. `trace`: null: nobody hears of
  /// conversions.
  WeightLoader(const ArtifactSet& files, bool verify, TraceSink* trace)
      : files_(files), source_(verify), trace_(trace) {}

  /// `codec` is that of the stored bytes, or null. `components` receives the bytes of the form: of
  /// every component, or, in the first place, f32 values. Throws Error(limit) without memory,
  /// Error(artifact), Error(io), Error(package).
  HeapBytes load(std::size_t number, const FormDecision& decision, const Codec* codec,
                 std::span<std::span<const std::byte>> components);

 private:
  struct Job;
  void read_chunk(Job& job, std::size_t component, std::uint64_t chunk, std::span<std::byte> out);
  void keep(Job& job, std::size_t component);
  void relay(Job& job, std::size_t component);
  void dequantize(Job& job);
  void tell(const Job& job) const;

  const ArtifactSet& files_;
  ChunkSource source_;
  TraceSink* trace_;
};

}  // namespace synps
