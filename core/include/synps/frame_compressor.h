#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "synps/frame.h"

namespace synps {

/// Makes zstd frames of chunks, in bounded memory: a segment, its planes, a frame of that size, and
/// zstd's context, all kept from frame to frame. The bytes depend on content, level and the version
/// of zstd, not on how the content came in pieces. For one thread.
class FrameCompressor {
 public:
  /// Takes bytes of the frame, in sequence.
  using Sink = std::function<void(std::span<const std::byte>)>;

  FrameCompressor();
  ~FrameCompressor();
  FrameCompressor(FrameCompressor&&) noexcept;
  FrameCompressor& operator=(FrameCompressor&&) noexcept;

  /// Begins a frame, whatever became of the one before. `level` is from kMinZstdLevel to
  /// kMaxZstdLevel. Throws Error(limit) when there is no memory for the level.
  void begin(const FrameContent& content, int level);

  /// Takes the next bytes of the content. The frame of a chunk that is one segment comes as one
  /// call of `sink`, with the last bytes; that of a larger one in pieces.
  void add(std::span<const std::byte> bytes, const Sink& sink);

  /// Whether all of the content was taken.
  bool complete() const noexcept;

  /// Memory that a compressor of this level takes at most: its buffers and zstd's context.
  static std::uint64_t memory(int level);

 private:
  struct State;
  void compress_segment(const Sink& sink);
  void compress_stream(std::span<const std::byte> segment, bool last, const Sink& sink);

  std::unique_ptr<State> state_;
};

}  // namespace synps
