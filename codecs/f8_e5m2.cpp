#include "f8_e5m2.h"

#include "float8.h"

namespace synps {
namespace {

// OCP 8-bit Floating Point (OFP8) 1.0.
struct Facts {
  static constexpr int kFractionBits = 2;
  static constexpr int kBias = 15;
  static constexpr Float8Specials kSpecials = Float8Specials::ieee;
  static constexpr DType kDType = DType::f8_e5m2;
  static constexpr const char* kName = "f8_e5m2";
  static constexpr const char* kSummary = "OCP FP8 E5M2, read only: up to 57344, with infinities";
  static std::vector<DType> exact() { return {DType::f4, DType::f6_e3m2, DType::f8_e5m2}; }
};

}  // namespace

std::shared_ptr<const Codec> make_f8_e5m2(CodePath path) {
  return std::make_shared<DenseCodec<Float8Format<Facts>>>(path);
}

}  // namespace synps
