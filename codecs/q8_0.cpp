#include "q8_0.h"

#include <algorithm>

#include "block_codec.h"
#include "bytes.h"
#include "rounding.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, then 32 int8.
struct Q8Format {
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 34;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q8_0";
    info.name = "q8_0";
    info.bits_per_weight = 8.5;
    info.summary = "blocks of 32: f16 scale and 32 int8 (GGUF Q8_0)";
    info.error_bound = "0.563 d, d = max|x| of the block / 127; plus 127 x 2^-25 for d below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    const float d = largest / 127.0f;
    const float inverse = inverse_scale(d);
    for (std::size_t i = 0; i < kElements; ++i)
      store(out + 2 + i, static_cast<std::int8_t>(round_half_away(values[i] * inverse)));
    const std::uint16_t scale = f16_from_f32(d);
    store(out, scale);
    return {scale};
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    for (std::size_t i = 0; i < kElements; ++i)
      values[i] = static_cast<float>(load<std::int8_t>(in + 2 + i)) * d;
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q8_0(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q8_0(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q8_0(CodePath path) {
  return std::make_shared<BlockCodec<Q8Format>>(path);
}

}  // namespace synps
