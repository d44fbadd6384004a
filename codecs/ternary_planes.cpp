#include "ternary_planes.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "codec_layout.h"
#include "simd/kernels.h"
#include "simd/streaming.h"
#include "simd/sums.h"
#include "synps/checked.h"
#include "ternary_codes.h"
#include "value_notes.h"

namespace synps {
namespace {

constexpr std::size_t kPlanes = 8;
constexpr float kUnit = 2187.0f;  // 3^7: the weight of plane 0, where plane 7 has weight 1

/// Bytes of one row: all its planes.
constexpr std::uint64_t planes_bytes(std::uint64_t columns) noexcept {
  return kPlanes * packed_codes_bytes(columns);
}

/// The row's largest finite magnitude.
float largest_magnitude(std::span<const float> row) noexcept {
  float largest = 0;
  for (const float value : row)
    if (f32_is_finite(value)) largest = std::max(largest, std::fabs(value));
  return largest;
}

/// Balanced base-3 digits of `count` remainders, most significant plane first; plane p of this
/// group is stored at out + p × plane_bytes. Consumes the remainders.
void pack_digits(std::array<float, kGroupElements>& remainders, std::size_t plane_bytes,
                 std::byte* out) noexcept {
  for (std::size_t plane = 0; plane < kPlanes; ++plane) {
    GroupTrits trits;
    for (std::size_t i = 0; i < kGroupElements; ++i) {
      const float remainder = remainders[i];
      const int digit = (remainder > 0.5f ? 1 : 0) - (remainder < -0.5f ? 1 : 0);
      trits[i] = static_cast<std::uint8_t>(digit + 1);
      remainders[i] = 3.0f * (remainder - static_cast<float>(digit));
    }
    pack_group(trits.data(), out + plane * plane_bytes);
  }
}

/// The columns from `begin`, a multiple of a group's, on.
void encode_row(std::span<const float> row, std::size_t begin, float scale,
                std::byte* out) noexcept {
  const std::size_t plane_bytes = packed_codes_bytes(row.size());
  out += begin / kGroupElements * kGroupBytes;
  for (std::size_t first = begin; first < row.size(); first += kGroupElements, out += kGroupBytes) {
    std::array<float, kGroupElements> remainders{};
    const std::size_t count = std::min(kGroupElements, row.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = row[first + i];
      remainders[i] = scale == 0 || !f32_is_finite(value) ? 0.0f : value / scale;
    }
    pack_digits(remainders, plane_bytes, out);
  }
}

/// Consecutive groups, the last one perhaps not whole.
void decode_columns(const std::byte* in, std::size_t plane_bytes, float scale,
                    std::span<float> out) noexcept {
  for (std::size_t first = 0; first < out.size(); first += kGroupElements, in += kGroupBytes) {
    std::array<int, kGroupElements> values{};
    for (std::size_t plane = 0; plane < kPlanes; ++plane) {
      GroupTrits trits;
      unpack_group(in + plane * plane_bytes, trits.data());
      for (std::size_t i = 0; i < kGroupElements; ++i) values[i] = 3 * values[i] + trits[i] - 1;
    }
    const std::size_t count = std::min(kGroupElements, out.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      out[first + i] = scale * (static_cast<float>(values[i]) / kUnit);
  }
}

void note_scale(std::span<const float> row, std::uint64_t first, std::uint16_t scale, float largest,
                ValueReport& report) {
  if (scale == 0) note_underflow(row, first, report);
  if (scale != kF16Infinity) return;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (std::fabs(row[i]) == largest) return report.overflow.add(first + i, row[i]);
}

/// Components: `planes`, for every row its eight planes one after another, each laid out in 32-byte
/// groups; `scales`, one f16 a row.
class PlanesCodec final : public Codec {
 public:
  explicit PlanesCodec(CodePath path) : path_(path) {}

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override {
    return supports_whole_rows(weight, info_.id());
  }

  std::vector<Component> components(const Weight& weight) const override {
    return {row_component(weight, "planes", DType::u8,
                          checked_mul(kPlanes, packed_codes_bytes(weight.shape.columns()))),
            row_component(weight, "scales", DType::f16, 1)};
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    if (component == 0) return planes_bytes(columns);
    return columns == 0 ? 0 : sizeof(std::uint16_t);
  }
  std::uint64_t row_granule() const noexcept override { return 0; }

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    const std::size_t columns = piece.columns;
    assert(values.size() == piece.elements());
    if (columns == 0) return;
    for (std::size_t r = 0; r < piece.rows; ++r) {
      const std::uint16_t scale =
          encode_whole_row(values.subspan(r * columns, columns), piece.first_element + r * columns,
                           out[0].data() + r * planes_bytes(columns), report);
      store(out[1].data() + r * sizeof scale, scale);
    }
  }

  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    const std::size_t columns = piece.columns;
    assert(out.size() == piece.elements());
    if (columns == 0) return;
    simd::StreamingOutput streaming(out.size_bytes());
    for (std::size_t r = 0; r < piece.rows; ++r) {
      const auto scale = load<std::uint16_t>(in[1].data() + r * sizeof(std::uint16_t));
      decode_row(in[0].data() + r * planes_bytes(columns), f32_from_f16(scale),
                 out.subspan(r * columns, columns), streaming);
    }
  }

 private:
  /// Returns the stored scale.
  std::uint16_t encode_whole_row(std::span<const float> row, std::uint64_t first, std::byte* out,
                                 ValueReport& report) const {
    const bool fast = path_ == CodePath::fast && simd::available();
    const std::uint32_t bits = fast ? simd::largest_magnitude_bits(row.data(), row.size()) : 0;
    const bool finite = fast && bits < kF32Infinity;
    if (!finite) note_non_finite(row, first, report);
    const float largest = finite ? std::bit_cast<float>(bits) : largest_magnitude(row);
    const std::uint16_t scale = f16_from_f32(largest);
    note_scale(row, first, scale, largest, report);
    const float divisor = f32_from_f16(scale);
    const std::size_t groups =
        finite && divisor > 0 && scale != kF16Infinity
            ? simd::encode_planes(row.data(), row.size() / kGroupElements, divisor,
                                  packed_codes_bytes(row.size()), out)
            : 0;
    encode_row(row, groups * kGroupElements, divisor, out);
    return scale;
  }

  void decode_row(const std::byte* in, float scale, std::span<float> out,
                  simd::StreamingOutput& streaming) const {
    const std::size_t plane_bytes = packed_codes_bytes(out.size());
    const std::size_t groups = out.size() / kGroupElements;
    const auto run = [&](std::size_t first, std::size_t count, std::byte* to) {
      auto* values = reinterpret_cast<float*>(to);
      const std::byte* from = in + first * kGroupBytes;
      const std::size_t done = path_ == CodePath::fast
                                   ? simd::decode_planes(from, count, scale, plane_bytes, values)
                                   : 0;
      decode_columns(from + done * kGroupBytes, plane_bytes, scale,
                     {values + done * kGroupElements, (count - done) * kGroupElements});
    };
    streaming.fill(groups, std::as_writable_bytes(out).data(), kGroupElements * sizeof(float), run);
    decode_columns(in + groups * kGroupBytes, plane_bytes, scale,
                   out.subspan(groups * kGroupElements));
  }

  static CodecInfo make_info() {
    CodecInfo info;
    info.package = "ternary";
    info.name = "planes";
    info.bits_per_weight = 16;
    info.summary = "eight planes of base-3 digits and one f16 scale a row";
    info.error_bound = "scale x 2.3e-4, scale = max|x| of the row in f16";
    return info;
  }

  CodePath path_;
  CodecInfo info_ = make_info();
};

}  // namespace

std::shared_ptr<const Codec> make_ternary_planes(CodePath path) {
  return std::make_shared<PlanesCodec>(path);
}

}  // namespace synps
