#include "f8_e4m3.h"

#include "float8.h"

namespace synps {
namespace {

// OCP 8-bit Floating Point (OFP8) 1.0, what PyTorch calls float8_e4m3fn.
struct Facts {
  static constexpr int kFractionBits = 3;
  static constexpr int kBias = 7;
  static constexpr Float8Specials kSpecials = Float8Specials::top_nan;
  static constexpr DType kDType = DType::f8_e4m3;
  static constexpr const char* kName = "f8_e4m3";
  static constexpr const char* kSummary = "OCP FP8 E4M3, read only: up to 448, no infinities";
  static std::vector<DType> exact() {
    return {DType::f4, DType::f6_e2m3, DType::f6_e3m2, DType::f8_e4m3};
  }
};

}  // namespace

std::shared_ptr<const Codec> make_f8_e4m3(CodePath path) {
  return std::make_shared<DenseCodec<Float8Format<Facts>>>(path);
}

}  // namespace synps
