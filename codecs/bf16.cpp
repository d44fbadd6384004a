#include "bf16.h"

#include "dense_codec.h"

namespace synps {
namespace {

struct Bf16Format {
  using Bits = std::uint16_t;
  static constexpr Bits kInfinity = 0x7F80;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "bf16";
    info.name = "bf16";
    info.dense = true;
    info.bits_per_weight = 16;
    info.summary = "the upper half of an f32, rounded to nearest even";
    info.error_bound = "|x|/2^8 from 2^-126; 2^-134 below; from 2^128 - 2^119 on a value overflows";
    // f8_e8m0's smallest value, 2^-127, is a bf16 subnormal. f16 has three bits too many.
    info.exact = {DType::f4,          DType::f6_e2m3,     DType::f6_e3m2,
                  DType::f8_e5m2,     DType::f8_e4m3,     DType::f8_e8m0,
                  DType::f8_e4m3fnuz, DType::f8_e5m2fnuz, DType::bf16};
    info.dense_dtype = DType::bf16;
    return info;
  }
  static Bits encode(float value) noexcept { return bf16_from_f32(value); }
  static float decode(Bits bits) noexcept { return f32_from_bf16(bits); }
  static std::size_t fast_encode(const float* in, std::size_t count, std::byte* out,
                                 simd::Stores stores) {
    return simd::encode_bf16(in, count, out, stores);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t count, float* out,
                                 simd::Stores stores) {
    return simd::decode_bf16(in, count, out, stores);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_bf16(CodePath path) {
  return std::make_shared<DenseCodec<Bf16Format>>(path);
}

}  // namespace synps
