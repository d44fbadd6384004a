#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "float_bits.h"
#include "synps/kernel_call.h"
#include "ternary_codes.h"

namespace synps::kernels {

// What kernels know of the codecs that they read: how a row is made of blocks, and what a block
// decodes to, as Codec::decode() has it. A row format provides
//   kId                 `package:export`
//   kElements, kBytes   of a block; a row is whole blocks, the last one of which may be padded
//   kDense              a block is a plain run of values, and the last one as short as it is
//   kPadded             rows may end within a block
//   kRowScales          components[1] has an f32 scale for each row
//   kActivationBlock    of matvec_q8; 0: there is none
//   decode(block, count, row_scale, out)   the first `count` values
// and with kActivationBlock
//   scale(block, row_scale)  the block's scale
//   codes(block, out)        its kElements integers

struct F32Rows {
  static constexpr const char* kId = "f32:f32";
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 128;
  static constexpr bool kDense = true;
  static constexpr bool kPadded = true;
  static constexpr bool kRowScales = false;
  static constexpr std::uint32_t kActivationBlock = 0;

  static void decode(const std::byte* in, std::size_t count, float, float* out) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = load<float>(in + 4 * i);
  }
};

struct F16Rows {
  static constexpr const char* kId = "f16:f16";
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 64;
  static constexpr bool kDense = true;
  static constexpr bool kPadded = true;
  static constexpr bool kRowScales = false;
  static constexpr std::uint32_t kActivationBlock = 0;

  static void decode(const std::byte* in, std::size_t count, float, float* out) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = f32_from_f16(load<std::uint16_t>(in + 2 * i));
  }
};

struct Bf16Rows {
  static constexpr const char* kId = "bf16:bf16";
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 64;
  static constexpr bool kDense = true;
  static constexpr bool kPadded = true;
  static constexpr bool kRowScales = false;
  static constexpr std::uint32_t kActivationBlock = 0;

  static void decode(const std::byte* in, std::size_t count, float, float* out) noexcept {
    for (std::size_t i = 0; i < count; ++i) out[i] = f32_from_bf16(load<std::uint16_t>(in + 2 * i));
  }
};

/// Of formats whose codes are integers: code × scale, multiplied in f32.
template <typename Format>
void decode_codes(const std::byte* in, std::size_t count, float row_scale, float* out) noexcept {
  std::int8_t codes[Format::kElements];
  Format::codes(in, codes);
  const float scale = Format::scale(in, row_scale);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(codes[i]) * scale;
}

struct Q8Rows {
  static constexpr const char* kId = "q8_0:q8_0";
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 34;
  static constexpr bool kDense = false;
  static constexpr bool kPadded = false;
  static constexpr bool kRowScales = false;
  static constexpr std::uint32_t kActivationBlock = 32;

  static float scale(const std::byte* in, float) noexcept {
    return f32_from_f16(load<std::uint16_t>(in));
  }
  static void codes(const std::byte* in, std::int8_t* out) noexcept {
    std::memcpy(out, in + 2, kElements);
  }
  static void decode(const std::byte* in, std::size_t count, float scale, float* out) noexcept {
    decode_codes<Q8Rows>(in, count, scale, out);
  }
};

struct Q4Rows {
  static constexpr const char* kId = "q4_0:q4_0";
  static constexpr std::size_t kElements = 32;
  static constexpr std::size_t kBytes = 18;
  static constexpr bool kDense = false;
  static constexpr bool kPadded = false;
  static constexpr bool kRowScales = false;
  static constexpr std::uint32_t kActivationBlock = 32;

  static float scale(const std::byte* in, float) noexcept {
    return f32_from_f16(load<std::uint16_t>(in));
  }
  static void codes(const std::byte* in, std::int8_t* out) noexcept {
    for (std::size_t j = 0; j < kElements / 2; ++j) {
      const int byte = load<std::uint8_t>(in + 2 + j);
      out[j] = static_cast<std::int8_t>((byte & 15) - 8);
      out[j + kElements / 2] = static_cast<std::int8_t>((byte >> 4) - 8);
    }
  }
  static void decode(const std::byte* in, std::size_t count, float scale, float* out) noexcept {
    decode_codes<Q4Rows>(in, count, scale, out);
  }
};

inline void ternary_codes(const std::byte* in, std::size_t groups, std::int8_t* out) noexcept {
  for (std::size_t g = 0; g < groups; ++g) {
    GroupTrits trits;
    unpack_group(in + g * kGroupBytes, trits.data());
    for (std::size_t i = 0; i < kGroupElements; ++i)
      out[g * kGroupElements + i] = static_cast<std::int8_t>(trits[i] - kZeroTrit);
  }
}

struct Tq2Rows {
  static constexpr const char* kId = "ternary:tq2_0";
  static constexpr std::size_t kElements = 2 * kGroupElements;
  static constexpr std::size_t kBytes = 66;
  static constexpr bool kDense = false;
  static constexpr bool kPadded = false;
  static constexpr bool kRowScales = false;
  static constexpr std::uint32_t kActivationBlock = 256;

  static float scale(const std::byte* in, float) noexcept {
    return f32_from_f16(load<std::uint16_t>(in + 2 * kGroupBytes));
  }
  static void codes(const std::byte* in, std::int8_t* out) noexcept { ternary_codes(in, 2, out); }
  static void decode(const std::byte* in, std::size_t count, float scale, float* out) noexcept {
    decode_codes<Tq2Rows>(in, count, scale, out);
  }
};

struct TernaryRows {
  static constexpr const char* kId = "ternary:ternary";
  static constexpr std::size_t kElements = kGroupElements;
  static constexpr std::size_t kBytes = kGroupBytes;
  static constexpr bool kDense = false;
  static constexpr bool kPadded = true;
  static constexpr bool kRowScales = true;
  static constexpr std::uint32_t kActivationBlock = 256;

  static float scale(const std::byte*, float row_scale) noexcept { return row_scale; }
  static void codes(const std::byte* in, std::int8_t* out) noexcept { ternary_codes(in, 1, out); }
  static void decode(const std::byte* in, std::size_t count, float scale, float* out) noexcept {
    decode_codes<TernaryRows>(in, count, scale, out);
  }
};

/// The rows of a stored matrix.
template <typename Format>
class StoredRows {
 public:
  StoredRows(const StoredMatrix& weights, bool rows8) noexcept
      : bytes_(weights.components[0].data()),
        scales_(Format::kRowScales ? weights.components[1].data() : nullptr),
        columns_(weights.columns),
        grouped_(rows8 ? weights.rows / 8 * 8 : 0) {}

  static std::uint64_t row_bytes(std::uint64_t columns) noexcept {
    if constexpr (Format::kDense) return columns * (Format::kBytes / Format::kElements);
    return (columns / Format::kElements + (columns % Format::kElements != 0 ? 1 : 0)) *
           Format::kBytes;
  }

  /// Where the first block of a row is, and how far the next one is from it.
  const std::byte* row(std::uint64_t r) const noexcept {
    const std::uint64_t bytes = row_bytes(columns_);
    return r < grouped_ ? bytes_ + r / 8 * 8 * bytes + r % 8 * Format::kBytes : bytes_ + r * bytes;
  }
  std::size_t stride(std::uint64_t r) const noexcept {
    return r < grouped_ ? 8 * Format::kBytes : Format::kBytes;
  }
  float row_scale(std::uint64_t r) const noexcept {
    return Format::kRowScales ? load<float>(scales_ + r * sizeof(float)) : 0.0f;
  }
  std::uint64_t grouped() const noexcept { return grouped_; }  ///< rows that are in groups of 8

 private:
  const std::byte* bytes_;
  const std::byte* scales_;
  std::uint64_t columns_;
  std::uint64_t grouped_;
};

}  // namespace synps::kernels
