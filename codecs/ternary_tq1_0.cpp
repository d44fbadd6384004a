#include "ternary_tq1_0.h"

#include "block_codec.h"
#include "bytes.h"
#include "trit_block.h"

namespace synps {
namespace {

/// A run of bytes that packs trits of elements `stride` apart: byte m holds elements
/// first + m + stride × n for n < trits, the first trit most significant.
struct Section {
  std::size_t first;   ///< element
  std::size_t stride;  ///< elements, and the section's bytes
  unsigned trits;      ///< a byte: 5, or 4 and a zero
};
constexpr std::array<Section, 3> kSections = {{{0, 32, 5}, {160, 16, 5}, {240, 4, 4}}};
constexpr std::array<std::uint8_t, 5> kPowersOf3 = {1, 3, 9, 27, 81};

/// The GGUF layout: 48 bytes of five trits, 4 bytes of four, then f16 d.
struct Tq1Format {
  static constexpr std::size_t kElements = TritBlock::kElements;
  static constexpr std::size_t kBytes = 54;
  static constexpr std::size_t kScaleAt = 52;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "ternary";
    info.name = "tq1_0";
    info.bits_per_weight = 1.6875;
    info.summary = "blocks of 256: five ternary codes a byte and f16 scale (GGUF TQ1_0)";
    info.error_bound = "0.501 d, d = max|x| of the block; plus 2^-25 for d below 2^-14";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    const TritBlock block(values);
    std::byte* to = out;
    for (const Section& section : kSections)
      for (std::size_t m = 0; m < section.stride; ++m) *to++ = pack(block, section, m);
    const std::uint16_t scale = f16_from_f32(block.d);
    store(out + kScaleAt, scale);
    return {scale};
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in + kScaleAt));
    for (const Section& section : kSections)
      for (std::size_t m = 0; m < section.stride; ++m, ++in)
        for (unsigned n = 0; n < section.trits; ++n)
          values[section.first + m + section.stride * n] = static_cast<float>(code(*in, n)) * d;
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_tq1_0(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_tq1_0(in, blocks, out);
  }

 private:
  /// The trits as a fraction of 3^5, in 256ths and rounded up: multiplying by 3 then brings one
  /// trit after the other over the top of the byte.
  static std::byte pack(const TritBlock& block, const Section& section, std::size_t m) noexcept {
    unsigned value = 0;
    for (unsigned n = 0; n < 5; ++n)
      value = value * 3 +
              (n < section.trits ? block.trits[section.first + m + section.stride * n] : 0u);
    return static_cast<std::byte>((value * 256 + 242) / 243);
  }
  static int code(std::byte byte, unsigned n) noexcept {
    const unsigned fraction = (std::to_integer<unsigned>(byte) * kPowersOf3[n]) & 255u;
    return static_cast<int>((fraction * 3) >> 8) - 1;
  }
};

}  // namespace

std::shared_ptr<const Codec> make_ternary_tq1_0(CodePath path) {
  return std::make_shared<BlockCodec<Tq1Format>>(path);
}

}  // namespace synps
