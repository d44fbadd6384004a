#include "ternary_absmean.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "codec_layout.h"
#include "exact_sum.h"
#include "simd/kernels.h"
#include "simd/sums.h"
#include "ternary_codes.h"
#include "ternary_rows.h"
#include "value_notes.h"

namespace synps {
namespace {

constexpr std::size_t kCodes = 0;
constexpr std::size_t kScales = 1;

/// The exact mean of magnitudes, whatever order they come in, rounded once. NaN and infinities
/// count as 0.
class AbsmeanAnalysis final : public Analysis {
 public:
  explicit AbsmeanAnalysis(CodePath path) : fast_(path == CodePath::fast && simd::available()) {}

  void add(std::span<const float> values) override {
    count_ += values.size();
    while (!values.empty()) {
      const auto run = values.first(std::min(values.size(), fast_ ? kRun : values.size()));
      if (!fast_ || !add_fast(run)) add_reference(run);
      values = values.subspan(run.size());
    }
  }
  void store(std::size_t component, std::span<std::byte> out) const override {
    assert(component == kScales && out.size() == sizeof(float));
    static_cast<void>(component);
    synps::store(out.data(), count_ == 0 ? 0.0f : rounded_mean(sum_.total(), count_));
  }

 private:
  /// Short, so that few runs have a value too small beside their largest.
  static constexpr std::size_t kRun = 1024;

  /// False: the run has NaN or infinities, or values so different that f64 does not hold their sum.
  bool add_fast(std::span<const float> run) {
    const simd::Totals totals = simd::totals(run.data(), run.size());
    if (totals.largest_bits == 0) return true;
    if (totals.largest_bits >= kF32Infinity ||
        !simd::span_is_exact(totals.smallest_bits, totals.largest_bits))
      return false;
    sum_.add_exact_sum(totals.sum);
    return true;
  }
  void add_reference(std::span<const float> run) {
    for (const float value : run) {
      const std::uint32_t bits = f32_magnitude_bits(value);
      if (bits < kF32Infinity) sum_.add(bits);
    }
  }

  bool fast_;
  MagnitudeSum sum_;
  std::uint64_t count_ = 0;
};

/// clamp(round(value / scale), -1, 1) with halves to even: 0 up to one half, which is even, and
/// beyond it what rounds to ±1 or is clamped to it. NaN and infinities give 0.
std::uint8_t trit_of(float value, float scale) noexcept {
  if (!f32_is_finite(value)) return kZeroTrit;
  const float ratio = value / scale;
  if (ratio > 0.5f) return kZeroTrit + 1;
  return ratio < -0.5f ? kZeroTrit - 1 : kZeroTrit;
}

/// Components: `codes`, rows of 32-byte groups; `scales`, one f32 for the weight.
class AbsmeanCodec final : public Codec {
 public:
  explicit AbsmeanCodec(CodePath path) : path_(path) {}

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override {
    return supports_rows(weight, info_.id());
  }

  std::vector<Component> components(const Weight& weight) const override {
    Component scale;
    scale.name = "scales";
    scale.dtype = DType::f32;
    scale.shape = Shape{1};
    scale.bytes = sizeof(float);
    scale.per_weight = true;
    return {row_component(weight, "codes", DType::u8, packed_codes_bytes(weight.shape.columns())),
            scale};
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    return component == kCodes ? packed_codes_bytes(columns) : 0;
  }
  std::uint64_t row_granule() const noexcept override { return kGroupElements; }

  std::unique_ptr<Analysis> begin_analysis(const Weight&) const override {
    return std::make_unique<AbsmeanAnalysis>(path_);
  }

  void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    assert(analysis != nullptr && values.size() == piece.elements());
    std::array<std::byte, sizeof(float)> stored;
    analysis->store(kScales, stored);
    const float scale = load<float>(stored.data());
    const std::size_t columns = piece.columns;
    const std::size_t codes_bytes = packed_codes_bytes(columns);
    for (std::size_t r = 0; r < piece.rows; ++r)
      encode_row(values.subspan(r * columns, columns), piece.first_element + r * columns, scale,
                 out[kCodes].data() + r * codes_bytes, report);
  }

  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    const float scale = load<float>(in[kScales].data());
    const std::size_t columns = piece.columns;
    const std::size_t codes_bytes = packed_codes_bytes(columns);
    assert(out.size() == piece.elements());
    RowUnpacker rows(path_, out.size_bytes());
    for (std::size_t r = 0; r < piece.rows; ++r)
      rows.unpack(in[kCodes].data() + r * codes_bytes, scale, out.subspan(r * columns, columns));
  }

 private:
  void encode_row(std::span<const float> row, std::uint64_t first, float scale, std::byte* out,
                  ValueReport& report) const {
    const bool fast = path_ == CodePath::fast && scale != 0;
    for (std::size_t i = 0; i < row.size();) {
      if (fast)
        i += kGroupElements * simd::encode_groups_absmean(row.data() + i,
                                                          (row.size() - i) / kGroupElements, scale,
                                                          out + i / kGroupElements * kGroupBytes);
      const std::size_t end = fast ? std::min(row.size(), i + kGroupElements) : row.size();
      note_non_finite(row.subspan(i, end - i), first + i, report);
      if (scale == 0) note_underflow(row.subspan(i, end - i), first + i, report);
      pack_row(
          i, end, [&](std::size_t c) { return scale == 0 ? kZeroTrit : trit_of(row[c], scale); },
          out);
      i = end;
    }
  }

  static CodecInfo make_info() {
    CodecInfo info;
    info.package = "ternary";
    info.name = "absmean";
    info.bits_per_weight = 2;
    info.summary =
        "two-bit ternary codes and one f32 scale a weight, its mean magnitude (BitNet b1.58)";
    info.error_bound = "the larger of scale/2 and max|x| - scale";
    return info;
  }

  CodePath path_;
  CodecInfo info_ = make_info();
};

}  // namespace

std::shared_ptr<const Codec> make_ternary_absmean(CodePath path) {
  return std::make_shared<AbsmeanCodec>(path);
}

}  // namespace synps
