#include "q5_1.h"

#include "block_codec.h"
#include "bytes.h"
#include "five_bits.h"
#include "range_block.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, f16 m, then five-bit codes.
struct Q51Format {
  static constexpr std::size_t kElements = RangeBlock::kElements;
  static constexpr std::size_t kBytes = 24;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q5_1";
    info.name = "q5_1";
    info.bits_per_weight = 6;
    info.summary = "blocks of 32: f16 scale and minimum, 32 five-bit codes (GGUF Q5_1)";
    info.error_bound =
        "0.516 d + |min|/2^11, d = (max - min) of the block / 31; plus 32 x 2^-25 where d or min "
        "is "
        "below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    const RangeBlock block(values, 31);
    store_five_bits(block.codes, out + 4);
    return block.store_scales(out);
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    const float m = f32_from_f16(load<std::uint16_t>(in + 2));
    const auto codes = load_five_bits(in + 4);
    for (std::size_t i = 0; i < kElements; ++i) values[i] = static_cast<float>(codes[i]) * d + m;
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q5_1(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q5_1(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q5_1(CodePath path) {
  return std::make_shared<BlockCodec<Q51Format>>(path);
}

}  // namespace synps
