#include "iq4_nl.h"

#include "block_codec.h"
#include "bytes.h"
#include "code_tables.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, then 16 bytes; byte j holds element j low and element j + 16 high.
struct Iq4NlFormat {
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 18;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "iq4_nl";
    info.name = "iq4_nl";
    info.encodes = false;
    info.bits_per_weight = 4.5;
    info.summary =
        "blocks of 32: f16 scale and four-bit codes of unequal steps, read only (GGUF IQ4_NL)";
    info.error_bound = "none: values are decoded exactly";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    for (std::size_t j = 0; j < kElements / 2; ++j) {
      const auto byte = load<std::uint8_t>(in + 2 + j);
      values[j] = d * static_cast<float>(kIq4Values[byte & 15]);
      values[j + kElements / 2] = d * static_cast<float>(kIq4Values[byte >> 4]);
    }
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_iq4_nl(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_iq4_nl(CodePath path) {
  return std::make_shared<BlockCodec<Iq4NlFormat>>(path);
}

}  // namespace synps
