#include "q5_0.h"

#include <algorithm>

#include "block_codec.h"
#include "bytes.h"
#include "first_largest.h"
#include "five_bits.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, then five-bit codes.
struct Q50Format {
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 22;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q5_0";
    info.name = "q5_0";
    info.bits_per_weight = 5.5;
    info.summary = "blocks of 32: f16 scale and 32 five-bit codes (GGUF Q5_0)";
    info.error_bound =
        "1.008 d, d = max|x| of the block / 16 (half of that but for values opposite in sign to "
        "the largest); plus 16 x 2^-25 for d below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    const float d = first_largest(values) / -16.0f;
    const float inverse = inverse_scale(d);
    FiveBitCodes codes;
    for (std::size_t i = 0; i < kElements; ++i) {
      const float scaled = values[i] * inverse;  // in [-16, 16] but for its rounding
      codes[i] = static_cast<std::uint8_t>(std::min(31, static_cast<int>(scaled + 16.5f)));
    }
    store_five_bits(codes, out + 2);
    const std::uint16_t scale = f16_from_f32(d);
    store(out, scale);
    return {scale};
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    const auto codes = load_five_bits(in + 2);
    for (std::size_t i = 0; i < kElements; ++i) values[i] = static_cast<float>(codes[i] - 16) * d;
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q5_0(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q5_0(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q5_0(CodePath path) {
  return std::make_shared<BlockCodec<Q50Format>>(path);
}

}  // namespace synps
