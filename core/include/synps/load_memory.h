#pragma once

#include <cstdint>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/error.h"
#include "synps/form_resolver.h"

namespace synps {

// What loading a weight allocates. Both the loader and the plan take their sizes from here.

/// Everything on the heap begins at a multiple of so many bytes, and takes a multiple of them.
inline constexpr std::uint64_t kHeapGranule = 64;

/// The most that a reader that inflates frames takes: zstd's own, a window, the planes of a
/// segment, and a segment.
inline constexpr std::uint64_t kInflaterBytes = 4u << 20;

/// Of a reader that compares chunks with their digests.
inline constexpr std::uint64_t kVerifyBytes = 256u << 10;

/// The error for a weight whose size in memory does not fit 64 bits, of code limit.
Error memory_too_large(const StoredWeight& weight);

/// The blocks that hold the weight while the artifact is open: one of f32 values where it is
/// dequantized, else one a component in the codec's sequence; none where it is mapped. Bytes,
/// multiples of kHeapGranule. Components that nothing converts are kept with their padding. Throws
/// Error(limit) when a size does not fit 64 bits.
std::vector<std::uint64_t> heap_blocks(const StoredWeight& weight, const FormDecision& decision);

/// What rows that lie in the order rows8 are put into order in, so many bytes at a time or, if that
/// is more, a row.
inline constexpr std::uint64_t kRowPieceBytes = 256u << 10;

/// Room for any chunk of a component: true bytes where it is compressed, else stored ones, with the
/// padding of the last.
std::uint64_t chunk_room(const StoredComponent& component) noexcept;

/// Bytes of the buffer that pieces of the weight's true bytes go through while it is converted: for
/// a relayout a chunk of the component that has the largest ones, as components are laid out in
/// sequence; to dequantize, a chunk of every component; 0 where neither is done.
std::uint64_t conversion_buffer_bytes(const StoredWeight& weight, const FormDecision& decision);

/// The most that is needed besides, to put rows in order that are dequantized.
std::uint64_t row_buffer_bytes(const StoredWeight& weight, const FormDecision& decision);

}  // namespace synps
