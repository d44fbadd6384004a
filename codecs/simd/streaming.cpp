#include "simd/streaming.h"

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace synps::simd {

#if defined(__SSE2__)

StreamingOutput::~StreamingOutput() {
  if (streams_) _mm_sfence();
}

void StreamingOutput::copy(std::byte* to, std::size_t bytes, const std::byte* next,
                           std::size_t next_bytes) const {
  constexpr std::size_t kLine = 64;
  // Lines that this chunk shares with its neighbours are written as usual: half a line written past
  // the caches costs more.
  const std::size_t head =
      std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, buffer_, head);
  std::size_t done = head;
  std::size_t fetched = 0;
  for (; done + kLine <= bytes; done += kLine) {
    for (; fetched < next_bytes && fetched * bytes <= done * next_bytes; fetched += kLine)
      _mm_prefetch(reinterpret_cast<const char*>(next + fetched), _MM_HINT_T0);
    for (std::size_t i = done; i < done + kLine; i += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(buffer_ + i)));
  }
  std::memcpy(to + done, buffer_ + done, bytes - done);
}

#else

StreamingOutput::~StreamingOutput() = default;

void StreamingOutput::copy(std::byte* to, std::size_t bytes, const std::byte*, std::size_t) const {
  std::memcpy(to, buffer_, bytes);
}

#endif

}  // namespace synps::simd
