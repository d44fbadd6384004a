#pragma once

#include <cstdint>
#include <vector>

#include "buffer.h"
#include "progress.h"
#include "stored_reader.h"
#include "synps/artifact_reader.h"
#include "synps/codec.h"
#include "synps/component_reader.h"
#include "synps/file.h"

namespace synps {

/// How a weight comes back.
struct UnpackedWeight {
  const ArtifactReader* file = nullptr;  ///< that holds it
  const StoredWeight* stored = nullptr;
  const Codec* codec = nullptr;  ///< decodes; null when the stored bytes are written as they are
  const Codec* dense = nullptr;  ///< encodes the values in the dtype they are written in
};

/// The work of a weight in units, which depend on its shape and its codec alone: not on chunks,
/// which are what the file says.
std::uint64_t unpack_units(const UnpackedWeight& weight);

/// Bytes of the buffers that a worker keeps for these weights.
std::uint64_t unpack_buffers(const std::vector<UnpackedWeight>& weights);

/// One worker: reads, decodes and writes pieces of weights through buffers that it keeps.
class UnpackWorker {
 public:
  /// `artifact` is any file that weights are in.
  UnpackWorker(const ArtifactReader& artifact, AtomicFile& file, Progress& progress)
      : file_(file), progress_(progress), bytes_reader_(artifact) {}

  /// Writes a unit of a weight whose bytes start at `begin` in the file.
  void write(const UnpackedWeight& weight, std::uint64_t begin, std::uint64_t unit);

 private:
  void write_bytes(const UnpackedWeight& weight, std::uint64_t begin, std::uint64_t unit);
  void check_kept(const UnpackedWeight& weight, const Piece& piece, std::span<const float> values,
                  std::span<const std::byte> bytes);

  AtomicFile& file_;
  Progress& progress_;
  StoredReader reader_;
  ComponentReader bytes_reader_;
  Buffer<std::byte> bytes_;
  Buffer<float> values_;
  Buffer<float> kept_;
};

}  // namespace synps
