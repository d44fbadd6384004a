#pragma once

#include <cstddef>
#include <cstdint>

namespace synps::simd {

/// How a dense kernel writes: as usual, or past the caches, to an output that begins with a cache
/// line. For other threads to see the latter, finish_streaming() has to follow.
enum class Stores { cached, streamed };

// The bulk of the codecs in SIMD, for the best instruction set of this machine.
//
// A kernel that encodes or decodes takes a run of elements, blocks or groups, does the first of
// them and returns how many: it stops before the end where fewer are left than it does at once, and
// before the first that is out of the ordinary (NaN, infinities, overflow, underflow). The caller
// lets the reference do some, then calls again. What a kernel does, it does with the bytes of the
// reference, and there is nothing to report about it. Without SIMD a kernel does nothing.
//
// Pointers need no alignment beyond their type's. A kernel may have written beyond what it did, but
// never beyond the run.

// Dense: `count` elements.
std::size_t encode_f16(const float* in, std::size_t count, std::byte* out, Stores stores);
std::size_t decode_f16(const std::byte* in, std::size_t count, float* out, Stores stores);
std::size_t encode_bf16(const float* in, std::size_t count, std::byte* out, Stores stores);
std::size_t decode_bf16(const std::byte* in, std::size_t count, float* out, Stores stores);
std::size_t decode_f64(const std::byte* in, std::size_t count, float* out, Stores stores);

// GGUF blocks: `blocks` of them.
std::size_t encode_q8_0(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q8_0(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q4_0(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q4_0(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_tq1_0(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_tq1_0(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_tq2_0(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_tq2_0(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q4_1(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q4_1(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q5_0(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q5_0(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q5_1(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q5_1(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_q8_1(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_iq4_nl(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_mxfp4(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_q2_k(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_q3_k(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q4_k(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q4_k(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q5_k(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q5_k(const std::byte* in, std::size_t blocks, float* out);
std::size_t encode_q6_k(const float* in, std::size_t blocks, std::byte* out);
std::size_t decode_q6_k(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_q8_k(const std::byte* in, std::size_t blocks, float* out);
std::size_t decode_iq4_xs(const std::byte* in, std::size_t blocks, float* out);

// Groups of 128 elements in two-bit codes, as ternary_codes.h lays them out.
std::size_t decode_groups(const std::byte* in, std::size_t groups, float scale, float* out);
/// With the codes of ternary:absmean; scale > 0.
std::size_t encode_groups_absmean(const float* in, std::size_t groups, float scale, std::byte* out);
/// With the sign of every value whose magnitude reaches the threshold; no NaN nor infinities.
std::size_t encode_groups_from(const float* in, std::size_t groups, std::uint32_t threshold_bits,
                               std::byte* out);

// Groups of 128 elements in the eight planes of ternary:planes, each plane `plane_bytes` after the
// last one. Encoding: no NaN nor infinities; scale > 0 and finite.
std::size_t encode_planes(const float* in, std::size_t groups, float scale, std::size_t plane_bytes,
                          std::byte* out);
std::size_t decode_planes(const std::byte* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, float* out);

/// How much the caller leaves to the reference where a kernel stopped: about what a kernel does at
/// once, so that what comes after an exception is done in full width again.
inline constexpr std::size_t kElementStep = 64;
inline constexpr std::size_t kBlockStep = 8;

}  // namespace synps::simd
