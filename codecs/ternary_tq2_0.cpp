#include "ternary_tq2_0.h"

#include "block_codec.h"
#include "bytes.h"
#include "ternary_codes.h"
#include "trit_block.h"

namespace synps {
namespace {

/// The GGUF layout: two groups of two-bit codes, then f16 d.
struct Tq2Format {
  static constexpr std::size_t kElements = TritBlock::kElements;
  static constexpr std::size_t kBytes = 66;
  static constexpr std::size_t kScaleAt = 64;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "ternary";
    info.name = "tq2_0";
    info.bits_per_weight = 2.0625;
    info.summary = "blocks of 256: two-bit ternary codes and f16 scale (GGUF TQ2_0)";
    info.error_bound = "0.501 d, d = max|x| of the block; plus 2^-25 for d below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    const TritBlock block(values);
    pack_group(block.trits.data(), out);
    pack_group(block.trits.data() + kGroupElements, out + kGroupBytes);
    const std::uint16_t scale = f16_from_f32(block.d);
    store(out + kScaleAt, scale);
    return {scale};
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    unpack_row(in, f32_from_f16(load<std::uint16_t>(in + kScaleAt)), values);
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_tq2_0(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_tq2_0(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_ternary_tq2_0(CodePath path) {
  return std::make_shared<BlockCodec<Tq2Format>>(path);
}

}  // namespace synps
