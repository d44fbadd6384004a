#include "q4_1.h"

#include "block_codec.h"
#include "bytes.h"
#include "range_block.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, f16 m, then 16 bytes; byte j holds element j low and element j + 16
/// high.
struct Q41Format {
  static constexpr std::size_t kElements = RangeBlock::kElements;
  static constexpr std::size_t kBytes = 20;
  static constexpr std::size_t kHalf = kElements / 2;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q4_1";
    info.name = "q4_1";
    info.bits_per_weight = 5;
    info.summary = "blocks of 32: f16 scale and minimum, 32 four-bit codes (GGUF Q4_1)";
    info.error_bound =
        "0.508 d + |min|/2^11, d = (max - min) of the block / 15; plus 16 x 2^-25 where d or min "
        "is "
        "below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    const RangeBlock block(values, 15);
    for (std::size_t j = 0; j < kHalf; ++j)
      store(out + 4 + j, static_cast<std::uint8_t>(block.codes[j] | (block.codes[j + kHalf] << 4)));
    return block.store_scales(out);
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    const float m = f32_from_f16(load<std::uint16_t>(in + 2));
    for (std::size_t j = 0; j < kHalf; ++j) {
      const int byte = load<std::uint8_t>(in + 4 + j);
      values[j] = static_cast<float>(byte & 15) * d + m;
      values[j + kHalf] = static_cast<float>(byte >> 4) * d + m;
    }
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q4_1(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q4_1(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q4_1(CodePath path) {
  return std::make_shared<BlockCodec<Q41Format>>(path);
}

}  // namespace synps
