#include "ternary.h"

#include <cassert>
#include <optional>

#include "codec_layout.h"
#include "least_squares.h"
#include "simd/kernels.h"
#include "ternary_codes.h"
#include "ternary_rows.h"
#include "value_notes.h"

namespace synps {
namespace {

std::uint8_t trit_of(float value, const TernaryFit& fit) noexcept {
  const std::uint32_t magnitude = f32_magnitude_bits(value);
  if (magnitude >= kF32Infinity || !fit.keeps(magnitude)) return kZeroTrit;
  return value > 0 ? kZeroTrit + 1 : kZeroTrit - 1;
}

/// Components: `codes`, rows of 32-byte groups; `scales`, one f32 a row.
class TernaryCodec final : public Codec {
 public:
  explicit TernaryCodec(CodePath path) : path_(path) {}

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override {
    return supports_whole_rows(weight, info_.name);
  }

  std::vector<Component> components(const Weight& weight) const override {
    return {row_component(weight, "codes", DType::u8, packed_codes_bytes(weight.shape.columns())),
            row_component(weight, "scales", DType::f32, 1)};
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    if (component == 0) return packed_codes_bytes(columns);
    return columns == 0 ? 0 : sizeof(float);
  }
  std::uint64_t row_granule() const noexcept override { return 0; }
  std::uint64_t block_bytes(std::size_t component) const noexcept override {
    return component == 0 ? kGroupBytes : sizeof(float);
  }

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    FitScratch scratch;
    encode_rows(piece, values, out, report, scratch);
  }

  /// encode() with memory of the caller's.
  void encode_rows(const Piece& piece, std::span<const float> values,
                   std::span<const std::span<std::byte>> out, ValueReport& report,
                   FitScratch& scratch) const {
    const std::size_t columns = piece.columns;
    const std::size_t codes_bytes = packed_codes_bytes(columns);
    assert(values.size() == piece.elements());
    if (columns == 0) return;
    scratch.reserve(columns);
    for (std::size_t r = 0; r < piece.rows; ++r) {
      const std::span<const float> row = values.subspan(r * columns, columns);
      std::byte* codes = out[0].data() + r * codes_bytes;
      const std::optional<TernaryFit> fast =
          path_ == CodePath::fast ? fit_ternary_fast(row, scratch) : std::nullopt;
      if (!fast) note_non_finite(row, piece.first_element + r * columns, report);
      const TernaryFit fit = fast ? *fast : fit_ternary(row, scratch);
      const std::size_t groups =
          fast ? simd::encode_groups_from(row.data(), columns / kGroupElements, fit.threshold_bits,
                                          codes)
               : 0;
      pack_row(
          groups * kGroupElements, columns, [&](std::size_t i) { return trit_of(row[i], fit); },
          codes);
      store(out[1].data() + r * sizeof(float), fit.scale);
    }
  }

  std::unique_ptr<Encoder> make_encoder() const override;
  std::uint64_t encoder_bytes(std::uint64_t columns) const noexcept override {
    return fit_scratch_bytes(columns);
  }

  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    const std::size_t columns = piece.columns;
    const std::size_t codes_bytes = packed_codes_bytes(columns);
    assert(out.size() == piece.elements());
    if (columns == 0) return;
    RowUnpacker rows(path_, out.size_bytes());
    for (std::size_t r = 0; r < piece.rows; ++r)
      rows.unpack(in[0].data() + r * codes_bytes, load<float>(in[1].data() + r * sizeof(float)),
                  out.subspan(r * columns, columns));
  }

 private:
  static CodecInfo make_info() {
    CodecInfo info;
    info.package = "ternary";
    info.name = "ternary";
    info.bits_per_weight = 2;
    info.summary = "two-bit ternary codes and one f32 scale a row, of least squared error";
    info.error_bound =
        "the least sum of squares a row that any scale and codes of -1, 0, 1 reach; a row of "
        "{-s, 0, s} is exact";
    return info;
  }

  CodePath path_;
  CodecInfo info_ = make_info();
};

class TernaryEncoder final : public Encoder {
 public:
  explicit TernaryEncoder(const TernaryCodec& codec) : codec_(codec) {}

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) override {
    codec_.encode_rows(piece, values, out, report, scratch_);
  }

 private:
  const TernaryCodec& codec_;
  FitScratch scratch_;
};

std::unique_ptr<Encoder> TernaryCodec::make_encoder() const {
  return std::make_unique<TernaryEncoder>(*this);
}

}  // namespace

std::shared_ptr<const Codec> make_ternary(CodePath path) {
  return std::make_shared<TernaryCodec>(path);
}

}  // namespace synps
