#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace synps::simd {

/// Writes large outputs past the caches, as memcpy does: a store into a line that no cache holds
/// first reads the line, which for decoders doubles what goes through memory. Outputs that a cache
/// may hold until they are used, such as reused buffers, are written in place.
class StreamingOutput {
 public:
  /// `total` bytes will be filled in all.
  explicit StreamingOutput(std::size_t total) noexcept : streams_(kAvailable && total >= kFrom) {}
  StreamingOutput(const StreamingOutput&) = delete;
  StreamingOutput& operator=(const StreamingOutput&) = delete;
  ~StreamingOutput();  // what was written is visible to other threads as ordinary stores are

  /// Fills out[0, units × unit) from `in`, where a unit takes `in_unit` and `out_unit` bytes.
  /// `fill(first, count, to)` is to write units [first, first + count) to `to`, in any order of
  /// calls' sizes, each unit once. `to` has the alignment of `out` up to 16, at least.
  template <typename Fill>
  void fill(std::size_t units, const std::byte* in, std::size_t in_unit, std::byte* out,
            std::size_t out_unit, Fill fill) {
    if (!streams_) return fill(std::size_t{0}, units, out);
    const std::size_t most = std::max<std::size_t>(1, kChunk / out_unit);
    for (std::size_t first = 0; first < units; first += most) {
      const std::size_t count = std::min(most, units - first);
      fill(first, count, buffer_);
      const std::size_t ahead = std::min(most, units - first - count);
      copy(out + first * out_unit, count * out_unit, in + (first + count) * in_unit,
           ahead * in_unit);
    }
  }

 private:
  static constexpr std::size_t kChunk = 4096;
  static constexpr std::size_t kFrom = std::size_t{32} << 20;
#if defined(__SSE2__)
  static constexpr bool kAvailable = true;
#else
  static constexpr bool kAvailable = false;
#endif

  /// Copies from the buffer, and meanwhile asks for what is read next.
  void copy(std::byte* to, std::size_t bytes, const std::byte* next, std::size_t next_bytes) const;

  bool streams_;
  alignas(64) std::byte buffer_[kChunk];
};

}  // namespace synps::simd
