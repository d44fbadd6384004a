#include "f32.h"

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
};

}  // namespace

std::shared_ptr<const Codec> make_f32() {
  return std::make_shared<DenseCodec<F32Format>>();
}

}  // namespace synps
