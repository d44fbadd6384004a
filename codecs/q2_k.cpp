#include "q2_k.h"

#include "block_codec.h"
#include "bytes.h"

namespace synps {
namespace {

/// The GGUF layout: 16 bytes with a four-bit scale low and a minimum high, 64 bytes of codes, f16
/// d, f16 dmin. Byte 32 h + l of the codes holds elements l, l + 32, l + 64 and l + 96 of half h.
struct Q2KFormat {
  static constexpr std::size_t kElements = 256;
  static constexpr std::size_t kBytes = 84;
  static constexpr std::size_t kCodesAt = 16;
  static constexpr std::size_t kDAt = 80;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q2_k";
    info.name = "q2_k";
    info.encodes = false;
    info.bits_per_weight = 2.625;
    info.summary =
        "blocks of 256: 16 sub-blocks with four-bit scales and minima, two-bit codes, read only "
        "(GGUF Q2_K)";
    info.error_bound = "values are decoded with one rounding";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in + kDAt));
    const float dmin = f32_from_f16(load<std::uint16_t>(in + kDAt + 2));
    for (std::size_t i = 0; i < kElements; ++i) {
      const int bits = load<std::uint8_t>(in + i / 16);
      const int code =
          load<std::uint8_t>(in + kCodesAt + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
      values[i] = d * static_cast<float>(bits & 15) * static_cast<float>(code) -
                  dmin * static_cast<float>(bits >> 4);
    }
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q2_k(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q2_k(CodePath path) {
  return std::make_shared<BlockCodec<Q2KFormat>>(path);
}

}  // namespace synps
