#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "block_scales.h"
#include "code_path.h"
#include "codec_layout.h"
#include "float_bits.h"
#include "simd/kernels.h"
#include "simd/streaming.h"
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
/// with scales of its own; one component, `blocks`. `Format` provides
///   kElements, kBytes
///   info()
///   static BlockScales encode(const Values&, std::byte*)
///   static void decode(const std::byte*, Values&)
///   static std::size_t fast_encode(const float*, std::size_t blocks, std::byte*)
///   static std::size_t fast_decode(const std::byte*, std::size_t blocks, float*)
/// with Values = std::array<float, kElements>. A format without encode() is only read. The values
/// that encode() gets are finite. The last two are what simd/kernels.h calls kernels: they do a
/// part of the run, for which there is nothing to report.
template <typename Format>
class BlockCodec final : public Codec {
 public:
  static constexpr std::size_t kElements = Format::kElements;
  static constexpr std::size_t kBytes = Format::kBytes;
  using Values = std::array<float, kElements>;

  explicit BlockCodec(CodePath path) : path_(path) {}

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
  std::uint64_t block_bytes(std::size_t) const noexcept override { return kBytes; }

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    if constexpr (kEncodes) {
      const std::size_t blocks = values.size() / kElements;
      assert(values.size() % kElements == 0 && out[0].size() == blocks * kBytes);
      encode_run(values.data(), blocks, piece.first_element, out[0].data(), report);
    } else {
      throw_read_only(info_, "choose a codec that encodes, or keep the weight as it is stored");
    }
  }

  void decode(const Piece&, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    const std::size_t blocks = out.size() / kElements;
    assert(out.size() % kElements == 0 && in[0].size() == blocks * kBytes);
    const std::byte* from = in[0].data();
    const auto run = [&](std::size_t first, std::size_t count, std::byte* to) {
      decode_run(from + first * kBytes, count, reinterpret_cast<float*>(to));
    };
    simd::StreamingOutput(out.size_bytes())
        .fill(blocks, std::as_writable_bytes(out).data(), kElements * sizeof(float), run);
  }

 private:
  static constexpr bool kEncodes = requires(const Values& values, std::byte* out) {
    Format::encode(values, out);
  };

  void encode_run(const float* values, std::size_t blocks, std::uint64_t first, std::byte* out,
                  ValueReport& report) const {
    for (std::size_t b = 0; b < blocks;) {
      if (path_ == CodePath::fast)
        b += Format::fast_encode(values + b * kElements, blocks - b, out + b * kBytes);
      for (const std::size_t end = reference_end(b, blocks); b < end; ++b)
        encode_block(values + b * kElements, first + b * kElements, out + b * kBytes, report);
    }
  }

  static void encode_block(const float* values, std::uint64_t first, std::byte* out,
                           ValueReport& report) {
    Values block;
    for (std::size_t i = 0; i < kElements; ++i) {
      block[i] = values[i];
      if (f32_is_finite(block[i])) continue;
      report.non_finite.add(first + i, block[i]);
      block[i] = 0;
    }
    const BlockScales scales = Format::encode(block, out);
    if (scales.overflow()) note_overflow(block, first, report);
    if (scales.zero()) note_underflow(block, first, report);
  }

  void decode_run(const std::byte* in, std::size_t blocks, float* out) const {
    for (std::size_t b = 0; b < blocks;) {
      if (path_ == CodePath::fast)
        b += Format::fast_decode(in + b * kBytes, blocks - b, out + b * kElements);
      for (const std::size_t end = reference_end(b, blocks); b < end; ++b) {
        Values block;
        Format::decode(in + b * kBytes, block);
        for (std::size_t i = 0; i < kElements; ++i) out[b * kElements + i] = block[i];
      }
    }
  }

  /// Where the reference, called at block `b`, leaves the rest to the kernel again.
  std::size_t reference_end(std::size_t b, std::size_t blocks) const noexcept {
    return path_ == CodePath::fast ? std::min(blocks, b + simd::kBlockStep) : blocks;
  }

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

  CodePath path_;
  CodecInfo info_ = Format::info();
  std::string name_ = info_.package == info_.name ? info_.name : info_.id();
};

}  // namespace synps
