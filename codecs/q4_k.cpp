#include "q4_k.h"

#include "block_codec.h"
#include "bytes.h"
#include "scale_min_block.h"

namespace synps {
namespace {

/// The GGUF layout: 16 bytes of scales, then 32 bytes for every 64 elements: byte l holds element l
/// low and element l + 32 high.
struct Q4KFormat {
  static constexpr std::size_t kElements = kBlock256;
  static constexpr std::size_t kBytes = 144;
  static constexpr std::size_t kCodesAt = ScaleMinHeader::kBytes;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q4_k";
    info.name = "q4_k";
    info.bits_per_weight = 4.5;
    info.summary =
        "blocks of 256: eight sub-blocks with six-bit scales and minima, four-bit codes (GGUF "
        "Q4_K)";
    info.error_bound =
        "half a step of the sub-block within its range of codes, beyond it the distance to that";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    BlockScales scales;
    const auto codes = encode_scale_min(values, kTrialsQ4K, out, scales);
    for (std::size_t g = 0; g < 4; ++g)
      for (std::size_t l = 0; l < 32; ++l)
        store(out + kCodesAt + 32 * g + l,
              static_cast<std::uint8_t>(codes[64 * g + l] | (codes[64 * g + 32 + l] << 4)));
    return scales;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const ScaleMins s(in);
    for (std::size_t i = 0; i < kElements; ++i) {
      const int byte = load<std::uint8_t>(in + kCodesAt + i / 64 * 32 + i % 32);
      const int code = i % 64 < 32 ? byte & 15 : byte >> 4;
      values[i] = s.scale[i / 32] * static_cast<float>(code) - s.min[i / 32];
    }
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q4_k(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q4_k(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q4_k(CodePath path) {
  return std::make_shared<BlockCodec<Q4KFormat>>(path);
}

}  // namespace synps
