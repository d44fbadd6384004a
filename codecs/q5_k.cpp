#include "q5_k.h"

#include "block_codec.h"
#include "bytes.h"
#include "scale_min_block.h"

namespace synps {
namespace {

/// The GGUF layout: 16 bytes of scales, 32 bytes with the highest bits (bit j of byte l is that of
/// element 32 j + l), then the lower four as in q4_k.
struct Q5KFormat {
  static constexpr std::size_t kElements = kBlock256;
  static constexpr std::size_t kBytes = 176;
  static constexpr std::size_t kHighAt = ScaleMinHeader::kBytes;
  static constexpr std::size_t kLowAt = kHighAt + 32;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q5_k";
    info.name = "q5_k";
    info.bits_per_weight = 5.5;
    info.summary =
        "blocks of 256: eight sub-blocks with six-bit scales and minima, five-bit codes (GGUF "
        "Q5_K)";
    info.error_bound =
        "half a step of the sub-block within its range of codes, beyond it the distance to that";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    BlockScales scales;
    const auto codes = encode_scale_min(values, kTrialsQ5K, out, scales);
    for (std::size_t l = 0; l < 32; ++l) {
      unsigned high = 0;
      for (unsigned j = 0; j < 8; ++j) high |= unsigned{codes[32 * j + l]} >> 4 << j;
      store(out + kHighAt + l, static_cast<std::uint8_t>(high));
    }
    for (std::size_t g = 0; g < 4; ++g)
      for (std::size_t l = 0; l < 32; ++l)
        store(out + kLowAt + 32 * g + l,
              static_cast<std::uint8_t>((codes[64 * g + l] & 15) |
                                        ((codes[64 * g + 32 + l] & 15) << 4)));
    return scales;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const ScaleMins s(in);
    for (std::size_t i = 0; i < kElements; ++i) {
      const int byte = load<std::uint8_t>(in + kLowAt + i / 64 * 32 + i % 32);
      const int high = load<std::uint8_t>(in + kHighAt + i % 32) >> (i / 32) & 1;
      const int code = (i % 64 < 32 ? byte & 15 : byte >> 4) | (high << 4);
      values[i] = s.scale[i / 32] * static_cast<float>(code) - s.min[i / 32];
    }
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q5_k(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q5_k(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q5_k(CodePath path) {
  return std::make_shared<BlockCodec<Q5KFormat>>(path);
}

}  // namespace synps
