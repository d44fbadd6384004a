#include "f16.h"

#include "dense_codec.h"

namespace synps {
namespace {

struct F16Format {
  using Bits = std::uint16_t;
  static constexpr Bits kInfinity = kF16Infinity;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "f16";
    info.name = "f16";
    info.dense = true;
    info.bits_per_weight = 16;
    info.summary = "IEEE 754 binary16, rounded to nearest even";
    info.error_bound = "|x|/2^11 from 2^-14 to 65504; 2^-25 below; from 65520 on a value overflows";
    // Not f8_e8m0, whose powers of two reach from 2^-127 to 2^127.
    info.exact = {DType::f4,      DType::f6_e2m3,     DType::f6_e3m2,     DType::f8_e5m2,
                  DType::f8_e4m3, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::f16};
    info.dense_dtype = DType::f16;
    return info;
  }
  static Bits encode(float value) noexcept { return f16_from_f32(value); }
  static float decode(Bits bits) noexcept { return f32_from_f16(bits); }
  static std::size_t fast_encode(const float* in, std::size_t count, std::byte* out,
                                 simd::Stores stores) {
    return simd::encode_f16(in, count, out, stores);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t count, float* out,
                                 simd::Stores stores) {
    return simd::decode_f16(in, count, out, stores);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_f16(CodePath path) {
  return std::make_shared<DenseCodec<F16Format>>(path);
}

}  // namespace synps
