#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "buffer.h"
#include "chunk_digests.h"
#include "output_window.h"
#include "pack_buffers.h"
#include "pack_trace.h"
#include "pieces.h"
#include "progress.h"
#include "source_reader.h"
#include "synps/plan.h"
#include "synps/row_order.h"
#include "synps/weight_writer.h"

namespace synps {

/// What all workers of a pack share.
struct PackContext {
  const Checkpoint& checkpoint;
  const Plan& plan;
  WeightWriter& writer;
  Progress& progress;
};

/// One worker: reads pieces of source, encodes, hashes and writes them, through buffers that it
/// keeps, so that it allocates nothing for a piece, a unit or a weight. An analysis is its codec's
/// own object, one a weight.
class PackWorker {
 public:
  PackWorker(const PackContext& target, const PackBuffers& buffers);

  /// From now on adds what parts of the work take to `time`; null: nothing is measured.
  void measure(UnitTime* time) noexcept { time_ = time; }

  /// Copies bytes of a weight whose stored bytes are the source's: the chunk of that number among
  /// those of all components.
  void copy(const PlannedWeight& planned, std::uint64_t unit);

  /// Encodes elements [begin, end) of a weight. Adds what it met to `values`.
  void encode(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
              const Analysis* analysis, ValueReport& values);

  /// Encodes a weight that is one piece, read once also where its codec analyses it.
  void encode_whole(const PlannedWeight& planned, ValueReport& values);

  /// Shows all values of a weight to its codec's analysis, in order, and writes the per-weight
  /// components that come of it.
  void analyse(const PlannedWeight& planned, Analysis& analysis);

 private:
  std::span<float> read_piece(const PlannedWeight& planned, const Piece& piece,
                              ValueReport& values);
  void start_windows(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end);
  void encode_piece(const PlannedWeight& planned, const Piece& piece, std::span<const float> read,
                    const Analysis* analysis, ValueReport& values);
  void encode_values(const Codec& codec, const Piece& piece, std::span<const float> read,
                     const Analysis* analysis, ValueReport& values);
  void encode_rows1(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
                    const Analysis* analysis, ValueReport& values);
  void encode_rows8(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
                    const Analysis* analysis, ValueReport& values);
  void encode_step(const PlannedWeight& planned, const Piece& step, const Analysis* analysis,
                   ValueReport& values);
  void encode_staged(const PlannedWeight& planned, const Piece& piece, const Analysis* analysis,
                     ValueReport& values);
  void finish_windows(const PlannedWeight& planned);
  void store_analysis(const PlannedWeight& planned, const Analysis& analysis);
  Encoder* encoder_of(const Codec& codec);
  /// A component of a weight that is copied.
  struct Copied {
    const PlannedWeight& planned;
    const SourceTensor& tensor;
    std::size_t component;
    bool from_rows8;  ///< it is read from that order into rows1
  };
  void read_bytes(const Copied& copied, std::uint64_t offset, std::span<std::byte> out);
  void move_bytes(const Copied& copied, std::uint64_t begin, std::uint64_t end);
  std::uint64_t move_shared(const Copied& copied, std::uint64_t begin, std::uint64_t end);
  void copy_rows8(const Copied& copied, std::uint64_t begin, std::uint64_t end);
  void copy_columns(const Copied& copied, const RowBlocks& columns, std::uint64_t from,
                    std::uint64_t row_bytes, std::uint64_t to);
  std::uint64_t share_bytes(const Copied& copied, std::uint64_t source, std::uint64_t begin,
                            std::uint64_t end);

  PackContext target_;
  SourceReader source_;
  Buffer<float> values_;
  Buffer<std::byte> windows_memory_;
  std::vector<std::uint64_t> places_;  ///< of windows in their memory
  std::vector<OutputWindow> windows_;  ///< by component
  std::vector<std::span<std::byte>> out_;
  Buffer<std::byte> stage_memory_;  ///< rows1 of what is stored in another order
  std::vector<std::span<std::byte>> stage_;
  std::vector<std::span<std::byte>> stage_left_;
  std::vector<std::pair<const Codec*, std::unique_ptr<Encoder>>> encoders_;
  ChunkDigests copied_;
  UnitTime* time_ = nullptr;
};

}  // namespace synps
