#include "q8_k.h"

#include "block_codec.h"
#include "bytes.h"

namespace synps {
namespace {

/// The GGUF layout: f32 d, 256 int8, and 16 int16 sums of 16 codes each. Only read: it is what
/// matrix products quantize activations to.
struct Q8KFormat {
  static constexpr std::size_t kElements = 256;
  static constexpr std::size_t kBytes = 292;
  using Values = std::array<float, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q8_k";
    info.name = "q8_k";
    info.encodes = false;
    info.bits_per_weight = 9.125;
    info.summary = "blocks of 256: f32 scale and 256 int8, read only (GGUF Q8_K)";
    info.error_bound = "values are decoded with one rounding";
    return info;
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const auto d = load<float>(in);
    for (std::size_t i = 0; i < kElements; ++i)
      values[i] = d * static_cast<float>(load<std::int8_t>(in + 4 + i));
  }

  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q8_k(in, blocks, out);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q8_k(CodePath path) {
  return std::make_shared<BlockCodec<Q8KFormat>>(path);
}

}  // namespace synps
