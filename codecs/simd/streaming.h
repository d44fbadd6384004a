#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace synps::simd {

// Large outputs are written past the caches, as memcpy does: a store into a line that no cache
// holds first reads the line, which nearly doubles what a decoder moves. Outputs that a cache may
// hold until they are used, such as reused buffers, are written as usual.

/// Whether that pays where `moved` bytes are read and written in all. Never without instructions
/// for it.
bool worth_streaming(std::size_t moved) noexcept;

/// Makes what was written past the caches visible to other threads as ordinary stores are.
void finish_streaming() noexcept;

inline constexpr std::size_t kCacheLine = 64;

/// From `at` to the next line of the cache.
inline std::size_t bytes_to_line(const void* at) noexcept {
  return (kCacheLine - reinterpret_cast<std::uintptr_t>(at) % kCacheLine) % kCacheLine;
}

/// Writes an output past the caches by way of a small buffer, for kernels whose units do not end
/// with lines.
class StreamingOutput {
 public:
  /// For the filling of `total` bytes in any number of calls.
  explicit StreamingOutput(std::size_t total) noexcept : streams_(worth_streaming(total)) {}
  StreamingOutput(const StreamingOutput&) = delete;
  StreamingOutput& operator=(const StreamingOutput&) = delete;
  ~StreamingOutput() {
    if (streams_) finish_streaming();
  }

  /// Fills `units` units of `unit` bytes (at most kChunk) at `out`. `fill(first, count, to)` writes
  /// the units [first, first + count) to `to`, which is as aligned as its place in `out`, up to
  /// kCacheLine.
  template <typename Fill>
  void fill(std::size_t units, std::byte* out, std::size_t unit, Fill fill) {
    if (!streams_) return fill(std::size_t{0}, units, out);
    const std::size_t most = kChunk / unit;
    Lines lines(out);
    for (std::size_t done = 0; done < units; done += most) {
      const std::size_t count = std::min(most, units - done);
      fill(done, count, lines.end());
      lines.add(count * unit);
    }
  }

 private:
  static constexpr std::size_t kChunk = 4096;

  /// A run of output on its way: whole lines go past the caches, the rest waits for more. The ends
  /// of the run, parts of lines, are written as usual: past the caches they would cost more.
  class Lines {
   public:
    explicit Lines(std::byte* out) noexcept
        : skipped_(reinterpret_cast<std::uintptr_t>(out) % kCacheLine),
          held_(skipped_),
          line_(out - skipped_) {}
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;
    ~Lines();
    /// Where at most kChunk bytes may be added.
    std::byte* end() noexcept { return buffer_ + held_; }
    void add(std::size_t bytes) noexcept;

   private:
    std::size_t skipped_;  ///< bytes at the beginning of the buffer that are not of this run
    std::size_t held_;     ///< bytes in the buffer, these included
    std::byte* line_;      ///< where the buffer's first byte belongs: at the beginning of a line
    alignas(kCacheLine) std::byte buffer_[kCacheLine + kChunk];
  };

  bool streams_;
};

}  // namespace synps::simd
