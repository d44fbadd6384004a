#include "iq4_xs.h"

#include "block_codec.h"
#include "bytes.h"
#include "code_tables.h"
#include "k_blocks.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, the upper two bits of eight scales, their lower four, then 16 bytes a
/// sub-block of 32; byte i holds element i low and element i + 16 high.
struct Iq4XsFormat {
  static constexpr std::size_t kElements = 256;
  static constexpr std::size_t kBytes = 136;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "iq4_xs";
    info.name = "iq4_xs";
    info.encodes = false;
    info.bits_per_weight = 4.25;
    info.summary =
        "blocks of 256: six-bit scales, four-bit codes of unequal steps, read only (GGUF IQ4_XS)";
    info.error_bound = "none: values are decoded exactly";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    for (std::size_t j = 0; j < kElements / 32; ++j) {
      const float scale = d * static_cast<float>(iq4_xs_scale(in, j));
      for (std::size_t i = 0; i < 16; ++i) {
        const auto byte = load<std::uint8_t>(in + kIq4XsCodesAt + 16 * j + i);
        values[32 * j + i] = scale * static_cast<float>(kIq4Values[byte & 15]);
        values[32 * j + 16 + i] = scale * static_cast<float>(kIq4Values[byte >> 4]);
      }
    }
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_iq4_xs(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_iq4_xs(CodePath path) {
  return std::make_shared<BlockCodec<Iq4XsFormat>>(path);
}

}  // namespace synps
