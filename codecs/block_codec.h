#pragma once

#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec_layout.h"
#include "float_bits.h"
#include "synps/checked.h"
#include "synps/codec.h"

namespace synps {

/// The reciprocal that a block's codes are computed with. 0 where d is 0, and also where d is so
/// small that 1/d is not finite: the block's codes are then all zero.
inline float inverse_scale(float d) noexcept {
  const float inverse = d != 0 ? 1.0f / d : 0.0f;
  return f32_is_finite(inverse) ? inverse : 0.0f;
}

/// A GGUF block layout: a row is a sequence of blocks of kElements elements and kBytes bytes, each
/// with an f16 scale of its own; one component, `blocks`. `Format` provides
///   kElements, kBytes
///   info()
///   static std::uint16_t encode(const Values&, std::byte*)  returns the stored f16 scale
///   static void decode(const std::byte*, Values&)
/// with Values = std::array<float, kElements>. The values that encode() gets are finite.
template <typename Format>
class BlockCodec final : public Codec {
 public:
  static constexpr std::size_t kElements = Format::kElements;
  static constexpr std::size_t kBytes = Format::kBytes;
  using Values = std::array<float, kElements>;

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override {
    return supports_blocks(weight, kElements, name_);
  }
  std::vector<Component> components(const Weight& weight) const override {
    return {row_component(weight, "blocks", DType::u8,
                          checked_mul(weight.shape.columns() / kElements, kBytes))};
  }
  std::uint64_t row_bytes(std::size_t, std::uint64_t columns) const override {
    return columns / kElements * kBytes;
  }
  std::uint64_t row_granule() const noexcept override { return kElements; }

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    const std::size_t blocks = values.size() / kElements;
    assert(values.size() % kElements == 0 && out[0].size() == blocks * kBytes);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::uint64_t first = piece.first_element + b * kElements;
      Values block;
      for (std::size_t i = 0; i < kElements; ++i) {
        block[i] = values[b * kElements + i];
        if (f32_is_finite(block[i])) continue;
        report.non_finite.add(first + i, block[i]);
        block[i] = 0;
      }
      const std::uint16_t scale = Format::encode(block, out[0].data() + b * kBytes);
      if ((scale & kF16Magnitude) == kF16Infinity) note_overflow(block, first, report);
      if ((scale & kF16Magnitude) == 0) note_underflow(block, first, report);
    }
  }

  void decode(const Piece&, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    const std::size_t blocks = out.size() / kElements;
    assert(out.size() % kElements == 0 && in[0].size() == blocks * kBytes);
    for (std::size_t b = 0; b < blocks; ++b) {
      Values block;
      Format::decode(in[0].data() + b * kBytes, block);
      for (std::size_t i = 0; i < kElements; ++i) out[b * kElements + i] = block[i];
    }
  }

 private:
  static void note_overflow(const Values& block, std::uint64_t first, ValueReport& report) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < kElements; ++i)
      if (std::fabs(block[i]) > std::fabs(block[largest])) largest = i;
    report.overflow.add(first + largest, block[largest]);
  }
  static void note_underflow(const Values& block, std::uint64_t first, ValueReport& report) {
    for (std::size_t i = 0; i < kElements; ++i)
      if (block[i] != 0) report.underflow.add(first + i, block[i]);
  }

  CodecInfo info_ = Format::info();
  std::string name_ = info_.package == info_.name ? info_.name : info_.id();
};

}  // namespace synps
