#include "f8_e5m2fnuz.h"

#include "float8.h"

namespace synps {
namespace {

// arXiv 2206.02915, section 3: one NaN, at the code of -0.
struct Facts {
  static constexpr int kFractionBits = 2;
  static constexpr int kBias = 16;
  static constexpr Float8Specials kSpecials = Float8Specials::negative_zero;
  static constexpr DType kDType = DType::f8_e5m2fnuz;
  static constexpr const char* kName = "f8_e5m2fnuz";
  static constexpr const char* kSummary =
      "FP8 E5M2 without infinities and -0, read only: up to 57344";
  static std::vector<DType> exact() { return {DType::f8_e5m2fnuz}; }
};

}  // namespace

std::shared_ptr<const Codec> make_f8_e5m2fnuz(CodePath path) {
  return std::make_shared<DenseCodec<Float8Format<Facts>>>(path);
}

}  // namespace synps
