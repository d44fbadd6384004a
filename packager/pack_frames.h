#pragma once

#include <cstdint>

#include "pack_trace.h"
#include "progress.h"
#include "synps/artifact_layout.h"
#include "synps/artifact_writer.h"

namespace synps {

/// True bytes of all compressed components: what pack_frames() reads.
std::uint64_t bytes_to_compress(const ArtifactLayout& layout) noexcept;

/// Memory that a worker of pack_frames() takes; 0 where nothing is compressed.
std::uint64_t frame_worker_bytes(const ArtifactLayout& layout);

/// Makes frames of all compressed components, whose true bytes have been written: workers compress
/// chunks at the same time, and lay the frames one behind the other in data order, so that the
/// bytes do not depend on how many workers there are. `trace` may be null. Throws Error(io),
/// Error(limit), Cancelled.
void pack_frames(ArtifactWriter& writer, const ArtifactLayout& layout, unsigned most_workers,
                 Progress& progress, PackTrace* trace);

}  // namespace synps
