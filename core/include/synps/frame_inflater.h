#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "synps/frame.h"

namespace synps {

/// Gives the content of frames back, segment by segment, in bounded memory: a piece of the frame,
/// a window, and the planes of a segment, kept from frame to frame. Reads no byte of a frame twice.
/// For one thread.
class FrameInflater {
 public:
  /// Fills `out` with bytes of the stored frame from `offset` in it.
  using Source = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;

  FrameInflater();
  ~FrameInflater();
  FrameInflater(FrameInflater&&) noexcept;
  FrameInflater& operator=(FrameInflater&&) noexcept;

  /// Begins a frame of `stored` bytes, whatever became of the one before, and checks its header.
  /// Throws FrameFault, and what `source` throws.
  void begin(const FrameContent& content, std::uint64_t stored, Source source);

  /// Bytes of the next segment; 0 when there is none.
  std::uint64_t next_size() const noexcept;

  /// Fills `out`, which has next_size() bytes, not 0. After the last segment the frame has been
  /// found to hold just its content, with the right checksum, and no byte more. Throws FrameFault,
  /// and what the source throws.
  void next(std::span<std::byte> out);

 private:
  struct State;
  void read_more();
  void inflate(std::span<std::byte> out);
  bool step(std::span<std::byte> out, std::size_t& filled);
  void check_end();

  std::unique_ptr<State> state_;
};

}  // namespace synps
