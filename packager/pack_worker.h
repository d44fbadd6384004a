#pragma once

#include <cstdint>
#include <vector>

#include "chunk_digests.h"
#include "parallel.h"
#include "pieces.h"
#include "source_reader.h"
#include "synps/artifact_writer.h"
#include "synps/plan.h"

namespace synps {

/// What all workers of a pack share.
struct PackTarget {
  const Checkpoint& checkpoint;
  const Plan& plan;
  ArtifactWriter& writer;
  Progress& progress;
};

/// One worker: reads pieces of source, encodes, writes and hashes them, through buffers that it
/// keeps. Their size is bounded by kPieceElements, or by one row where a codec cannot cut rows.
class PackWorker {
 public:
  explicit PackWorker(const PackTarget& target) : target_(target) {}

  /// Copies bytes of a weight whose stored bytes are the source's: the chunk of that number.
  void copy(const PlannedWeight& planned, std::uint64_t chunk);

  /// Encodes elements [begin, end) of a weight. Adds what it met to `values`.
  void encode(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
              const Analysis* analysis, ValueReport& values);

  /// Shows all values of a weight to its codec's analysis, in order, and writes the per-weight
  /// components that come of it.
  void analyse(const PlannedWeight& planned, Analysis& analysis);

 private:
  std::span<float> read_piece(const PlannedWeight& planned, const Piece& piece,
                              ValueReport& values);
  void write_piece(const PlannedWeight& planned);

  /// Bytes of a component that a unit still has to write.
  struct Place {
    std::uint64_t at = 0;
    std::uint64_t end = 0;
  };

  PackTarget target_;
  SourceReader source_;
  Buffer<std::byte> copied_;
  Buffer<float> values_;
  std::vector<Buffer<std::byte>> encoded_;  ///< one a component
  std::vector<std::span<std::byte>> out_;
  std::vector<Place> places_;  ///< by component
  std::vector<ChunkDigests> digests_;
};

}  // namespace synps
