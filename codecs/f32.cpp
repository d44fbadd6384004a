#include "f32.h"

#include <cstring>

#include "dense_codec.h"

namespace synps {
namespace {

struct F32Format {
  using Bits = std::uint32_t;
  static constexpr Bits kInfinity = kF32Infinity;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "f32";
    info.name = "f32";
    info.dense = true;
    info.bits_per_weight = 32;
    info.summary = "IEEE 754 binary32, as it is";
    info.error_bound = "exact";
    info.exact = dtypes_exact_in_f32();
    info.dense_dtype = DType::f32;
    return info;
  }
  static Bits encode(float value) noexcept { return std::bit_cast<Bits>(value); }
  static float decode(Bits bits) noexcept { return std::bit_cast<float>(bits); }
  static std::size_t fast_encode(const float* in, std::size_t count, std::byte* out, simd::Stores) {
    std::memcpy(out, in, count * sizeof(float));
    return count;
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t count, float* out, simd::Stores) {
    std::memcpy(out, in, count * sizeof(float));
    return count;
  }
};

}  // namespace

std::shared_ptr<const Codec> make_f32(CodePath path) {
  return std::make_shared<DenseCodec<F32Format>>(path);
}

}  // namespace synps
