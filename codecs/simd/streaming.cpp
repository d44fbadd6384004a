#include "simd/streaming.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace synps::simd {
namespace {

/// About what the caches of one core hold, so that smaller outputs may still be there when they are
/// used.
[[maybe_unused]] constexpr std::size_t kStreamFrom = std::size_t{32} << 20;

/// One line, to a place where a line begins.
void stream_line(std::byte* to, const std::byte* from) noexcept {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < kCacheLine; i += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
#else
  std::memcpy(to, from, kCacheLine);
#endif
}

}  // namespace

bool worth_streaming([[maybe_unused]] std::size_t moved) noexcept {
#if defined(__SSE2__)
  return moved >= kStreamFrom;
#else
  return false;
#endif
}

void finish_streaming() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void StreamingOutput::Lines::add(std::size_t bytes) noexcept {
  held_ += bytes;
  std::size_t done = 0;
  if (skipped_ > 0 && held_ >= kCacheLine) {
    std::memcpy(line_ + skipped_, buffer_ + skipped_, kCacheLine - skipped_);
    skipped_ = 0;
    done = kCacheLine;
  }
  for (; done + kCacheLine <= held_; done += kCacheLine) stream_line(line_ + done, buffer_ + done);
  if (done == 0) return;
  line_ += done;
  held_ -= done;
  std::memcpy(buffer_, buffer_ + done, kCacheLine);  // of a fixed size: what is held, and more
}

StreamingOutput::Lines::~Lines() {
  std::memcpy(line_ + skipped_, buffer_ + skipped_, held_ - skipped_);
}

}  // namespace synps::simd
