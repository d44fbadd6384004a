#include "self_check.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "simd/targets.h"
#include "synps/builtin_codecs.h"

// After the targets.
#include <hwy/highway.h>

namespace synps {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

struct Encoded {
  std::vector<std::byte> bytes = std::vector<std::byte>(2 * kPiece);
  ValueReport report;

  void encode(const Codec& codec, const Piece& piece, const std::vector<float>& values) {
    const std::span<std::byte> out[] = {bytes};
    report = {};
    codec.encode(piece, values, nullptr, out, report);
  }
};

bool same(const ValueReport::Finding& a, const ValueReport::Finding& b) {
  return a.count == b.count && a.first_index == b.first_index && a.first_value == b.first_value;
}

bool same(const Encoded& a, const Encoded& b) {
  return a.bytes == b.bytes && same(a.report.overflow, b.report.overflow) &&
         same(a.report.underflow, b.report.underflow) && b.report.non_finite.count == 0;
}

bool check(const Codec& fast, const Codec& reference) {
  const Weight weight{"w", Shape{std::uint64_t{1} << 32}, DType::f32};
  std::vector<float> values(kPiece);
  Encoded want;
  Encoded got;
  for (std::uint64_t first = 0; first < weight.shape.elements(); first += kPiece) {
    // Neighbouring patterns are alike; these meet others: zeros beside infinities.
    for (std::uint64_t i = 0; i < kPiece; ++i) {
      const auto bits = static_cast<std::uint32_t>((first + i) * 0x9E37'79B1u);
      std::memcpy(&values[i], &bits, sizeof bits);
    }
    const Piece piece{&weight, first, 1, kPiece};
    want.encode(reference, piece, values);
    got.encode(fast, piece, values);
    if (!same(got, want)) {
      std::printf("differs from piece %llu on\n", static_cast<unsigned long long>(first));
      return false;
    }
  }
  return true;
}

}  // namespace

bool self_check() {
  bool good = true;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const auto fast = make_builtin_codecs();
    const auto reference = make_reference_codecs();
    for (std::size_t i = 0; i < fast.size(); ++i) {
      const std::string& name = fast[i]->info().name;
      if (name != "f16" && name != "bf16") continue;
      std::printf("%s, %s: all 2^32 f32 patterns: ", hwy::TargetName(target), name.c_str());
      std::fflush(stdout);
      const bool alike = check(*fast[i], *reference[i]);
      std::printf("%s\n", alike ? "as the reference" : "WRONG");
      good = good && alike;
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return good;
}

}  // namespace synps
