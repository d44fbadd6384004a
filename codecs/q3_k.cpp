#include "q3_k.h"

#include "block_codec.h"
#include "bytes.h"
#include "k_blocks.h"

namespace synps {
namespace {

/// The GGUF layout: 32 bytes with the highest bits (bit j of byte l is that of element 32 j + l),
/// 64 bytes with the lower two as in q2_k, 12 bytes of six-bit scales, f16 d.
struct Q3KFormat {
  static constexpr std::size_t kElements = 256;
  static constexpr std::size_t kBytes = 110;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q3_k";
    info.name = "q3_k";
    info.encodes = false;
    info.bits_per_weight = 3.4375;
    info.summary =
        "blocks of 256: 16 sub-blocks with six-bit scales, three-bit codes, read only (GGUF Q3_K)";
    info.error_bound = "none: values are decoded exactly";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in + kQ3DAt));
    for (std::size_t i = 0; i < kElements; ++i) {
      const int low = load<std::uint8_t>(in + 32 + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
      const int high = load<std::uint8_t>(in + i % 32) >> (i / 32) & 1;
      const float scale = d * static_cast<float>(q3_scale(in, i / 16));
      values[i] = scale * static_cast<float>(low + 4 * high - 4);
    }
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q3_k(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q3_k(CodePath path) {
  return std::make_shared<BlockCodec<Q3KFormat>>(path);
}

}  // namespace synps
