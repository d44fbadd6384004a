#pragma once

#include <cstdint>
#include <string>

#include "synps/artifact_index.h"
#include "synps/artifact_set.h"
#include "synps/checkpoint.h"
#include "synps/load_memory.h"
#include "synps/plan.h"

namespace synps {

// Sizes that memory.h adds up. They allow for what the allocator adds.

/// Of the program before it opens a file: code, libraries, heap.
inline constexpr std::uint64_t kProgramMemory = 12u << 20;

/// Of a worker beside its buffers: stack, hashers, the allocator's arena.
inline constexpr std::uint64_t kWorkerMemory = 256u << 10;

/// Of a worker that checks chunks against their digests.
inline constexpr std::uint64_t kCheckBytes = kVerifyBytes;

/// Of a worker that checks chunks, for those that are compressed.
std::uint64_t inflater_bytes(const ArtifactIndex& index) noexcept;

/// Memory of index entries, and of tensors and planned weights, is counted up to a multiple of
/// this.
inline constexpr std::uint64_t kIndexStep = 1u << 20;

/// Memory on the heap that a value refers to.
std::uint64_t heap_bytes(const std::string& text) noexcept;
std::uint64_t heap_bytes(const Shape& shape) noexcept;
std::uint64_t heap_bytes(const StoredWeight& weight) noexcept;

/// Memory of all entries.
std::uint64_t memory_of(const ArtifactIndex& index) noexcept;
std::uint64_t memory_of(const Checkpoint& checkpoint) noexcept;
std::uint64_t memory_of(const Plan& plan) noexcept;

/// Of an open artifact, what it took to open it included.
std::uint64_t memory_of(const ArtifactReader& artifact) noexcept;
std::uint64_t memory_of(const ArtifactSet& artifact) noexcept;
/// The longest list of digests of its files.
std::uint64_t sums_bytes(const ArtifactSet& artifact) noexcept;

std::uint64_t round_up_index(std::uint64_t bytes) noexcept;

}  // namespace synps
