#include "q8_1.h"

#include "block_codec.h"
#include "bytes.h"

namespace synps {
namespace {

/// The GGUF layout: f16 d, an f16 that is d times the sum of the codes, 32 int8. Only read: it is
/// what matrix products quantize activations to.
struct Q81Format {
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 36;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q8_1";
    info.name = "q8_1";
    info.encodes = false;
    info.bits_per_weight = 9;
    info.summary = "blocks of 32: f16 scale and 32 int8, read only (GGUF Q8_1)";
    info.error_bound = "none: values are decoded exactly";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in));
    for (std::size_t i = 0; i < kElements; ++i)
      values[i] = static_cast<float>(load<std::int8_t>(in + 4 + i)) * d;
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q8_1(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q8_1(CodePath path) {
  return std::make_shared<BlockCodec<Q81Format>>(path);
}

}  // namespace synps
