#include "q4_0.h"

#include <algorithm>

#include "block_codec.h"
#include "bytes.h"
#include "first_largest.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, then 16 bytes; byte j holds element j low and element j + 16 high.
struct Q4Format {
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 18;
  static constexpr std::size_t kHalf = kElements / 2;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q4_0";
    info.name = "q4_0";
    info.bits_per_weight = 4.5;
    info.summary = "blocks of 32: f16 scale and 32 four-bit codes (GGUF Q4_0)";
    info.error_bound =
        "1.004 d, d = max|x| of the block / 8 (half of that but for values opposite in sign to the "
        "largest); plus 8 x 2^-25 for d below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    const float d = first_largest(values) / -8.0f;
    const float inverse = inverse_scale(d);
    for (std::size_t j = 0; j < kHalf; ++j) {
      const unsigned low = code(values[j], inverse);
      const unsigned high = code(values[j + kHalf], inverse);
      store(out + 2 + j, static_cast<std::uint8_t>(low | (high << 4)));
    }
    const std::uint16_t scale = f16_from_f32(d);
    store(out, scale);
    return {scale};
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    for (std::size_t j = 0; j < kHalf; ++j) {
      const int byte = load<std::uint8_t>(in + 2 + j);
      values[j] = static_cast<float>((byte & 15) - 8) * d;
      values[j + kHalf] = static_cast<float>((byte >> 4) - 8) * d;
    }
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q4_0(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q4_0(in, blocks, out);
  }

 private:
  /// value * inverse lies in [-8, 8] but for its rounding, so that the sum is positive.
  static unsigned code(float value, float inverse) noexcept {
    const float scaled = value * inverse;  // rounded before the sum: multiply and add are not fused
    return static_cast<unsigned>(std::min(15, static_cast<int>(scaled + 8.5f)));
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q4_0(CodePath path) {
  return std::make_shared<BlockCodec<Q4Format>>(path);
}

}  // namespace synps
