#include "f64.h"

#include "dense_codec.h"

namespace synps {
namespace {

/// Only read: values go through the program as f32, so that writing f64 would keep nothing more.
struct F64Format {
  using Bits = std::uint64_t;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "f64";
    info.name = "f64";
    info.dense = true;
    info.encodes = false;
    info.bits_per_weight = 64;
    info.summary = "IEEE 754 binary64, read only: decodes to f32, rounded to nearest even";
    info.error_bound = "|x|/2^24 from 2^-126; 2^-150 below; from 2^128 - 2^103 on infinity";
    // What survives f64 and back to f32; an f64 itself does not.
    info.exact = dtypes_exact_in_f32();
    info.dense_dtype = DType::f64;
    return info;
  }
  static float decode(Bits bits) noexcept { return f32_from_f64(std::bit_cast<double>(bits)); }
  static std::size_t fast_decode(const std::byte* in, std::size_t count, float* out,
                                 simd::Stores stores) {
    return simd::decode_f64(in, count, out, stores);
  }
};

}  // namespace

std::shared_ptr<const Codec> make_f64(CodePath path) {
  return std::make_shared<DenseCodec<F64Format>>(path);
}

}  // namespace synps
