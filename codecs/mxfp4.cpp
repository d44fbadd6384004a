#include "mxfp4.h"

#include "block_codec.h"
#include "bytes.h"
#include "code_tables.h"

namespace synps {
namespace {

/// The GGUF layout: the exponent of a power of two (E8M0), then 16 bytes; byte j holds element j
/// low and element j + 16 high.
struct Mxfp4Format {
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 17;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "mxfp4";
    info.name = "mxfp4";
    info.encodes = false;
    info.bits_per_weight = 4.25;
    info.summary = "blocks of 32: power-of-two scale and E2M1 codes, read only (GGUF MXFP4)";
    info.error_bound = "none: values are decoded exactly, up to the largest f32";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = mxfp4_scale(load<std::uint8_t>(in));
    for (std::size_t j = 0; j < kElements / 2; ++j) {
      const auto byte = load<std::uint8_t>(in + 1 + j);
      values[j] = static_cast<float>(kMxfp4Values[byte & 15]) * d;
      values[j + kElements / 2] = static_cast<float>(kMxfp4Values[byte >> 4]) * d;
    }
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_mxfp4(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_mxfp4(CodePath path) {
  return std::make_shared<BlockCodec<Mxfp4Format>>(path);
}

}  // namespace synps
