#include "q6_k.h"

#include "block_codec.h"
#include "bytes.h"
#include "first_largest.h"
#include "q6_scales.h"

namespace synps {
namespace {

/// The search for the scale of a sub-block: x ≈ scale × code. Squares weigh the elements.
class Q6Search {
 public:
  explicit Q6Search(const float* x) noexcept : x_(x) {
    const float largest = first_largest({x, kQ6SubBlockElements});
    if (std::fabs(largest) < kQ6Least) return;
    inverse_ = q6_divisor(0) / largest;
    const Fit first = fit(inverse_);
    scale_ = first.ll != 0 ? first.lx / first.ll : 0.0f;
    float best = scale_ * first.lx;
    for (int n = -kQ6Trials; n <= kQ6Trials; ++n) {
      if (n == 0) continue;
      const float inverse = q6_divisor(n) / largest;
      const Fit now = fit(inverse);
      if (!(now.ll > 0 && now.lx * now.lx > best * now.ll)) continue;
      inverse_ = inverse;
      scale_ = now.lx / now.ll;
      best = scale_ * now.lx;
    }
    found_ = true;
  }

  float scale() const noexcept { return scale_; }

  /// The codes of the best trial, from 0 on; 0 where there was nothing to search for.
  void store_codes(std::uint8_t* codes) const noexcept {
    for (std::size_t i = 0; i < kQ6SubBlockElements; ++i)
      codes[i] = found_ ? static_cast<std::uint8_t>(code(inverse_, i) + kQ6Half) : 0;
  }

 private:
  struct Fit {
    float lx = 0;  ///< Σ x² × x × code
    float ll = 0;  ///< Σ x² × code²
  };

  int code(float inverse, std::size_t i) const noexcept {
    return std::clamp(nearest_int(inverse * x_[i]), -kQ6Half, kQ6Half - 1);
  }

  Fit fit(float inverse) const noexcept {
    Fit sums;
    for (std::size_t i = 0; i < kQ6SubBlockElements; ++i) {
      const auto l = static_cast<float>(code(inverse, i));
      const float w = x_[i] * x_[i];
      sums.lx += w * x_[i] * l;
      sums.ll += w * l * l;
    }
    return sums;
  }

  const float* x_;
  float inverse_ = 0;
  float scale_ = 0;
  bool found_ = false;
};

/// The GGUF layout: 128 bytes with the lower four bits, 64 with the upper two, 16 int8 scales, f16
/// d. Each half of the block has 64 and 32 of these bytes.
struct Q6KFormat {
  static constexpr std::size_t kElements = kBlock256;
  static constexpr std::size_t kBytes = 210;
  static constexpr std::size_t kHighAt = 128;
  static constexpr std::size_t kScalesAt = 192;
  static constexpr std::size_t kDAt = 208;
  using Values = std::array<float, kElements>;
  using Codes = std::array<std::uint8_t, kElements>;

  static CodecInfo info() {
    CodecInfo info;
    info.package = "q6_k";
    info.name = "q6_k";
    info.bits_per_weight = 6.5625;
    info.summary = "blocks of 256: 16 sub-blocks with int8 scales, six-bit codes (GGUF Q6_K)";
    info.error_bound =
        "half a step of the sub-block within its range of codes, beyond it the distance to that";
    return info;
  }

  static BlockScales encode(const Values& values, std::byte* out) noexcept {
    Codes codes;
    std::array<float, kQ6SubBlocks> found;
    bool finite = true;
    for (std::size_t j = 0; j < kQ6SubBlocks; ++j) {
      const Q6Search search(&values[j * kQ6SubBlockElements]);
      found[j] = search.scale();
      finite = finite && f32_is_finite(found[j]);
      search.store_codes(&codes[j * kQ6SubBlockElements]);
    }
    const Q6Scales scales(found);
    if (scales.zero) {
      std::fill_n(out, kBytes, std::byte{0});
    } else {
      find_codes(values, scales, codes);
      pack(codes, out);
      for (std::size_t j = 0; j < kQ6SubBlocks; ++j)
        store(out + kScalesAt + j, scales.sub_blocks[j]);
      store(out + kDAt, scales.f16);
    }
    // A scale whose sums overflowed is lost, and may leave the block with zeros.
    return {finite ? scales.f16 : kF16Infinity};
  }

  static void decode(const std::byte* in, Values& values) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(in + kDAt));
    for (std::size_t i = 0; i < kElements; ++i) {
      const std::size_t half = i / 128;
      const std::size_t n = i % 128 / 32;
      const std::size_t l = i % 32;
      const int low = load<std::uint8_t>(in + 64 * half + n % 2 * 32 + l);
      const int high = load<std::uint8_t>(in + kHighAt + 32 * half + l) >> (2 * n) & 3;
      const int code = ((n < 2 ? low & 15 : low >> 4) | (high << 4)) - kQ6Half;
      const float scale = d * static_cast<float>(load<std::int8_t>(in + kScalesAt + i / 16));
      values[i] = scale * static_cast<float>(code);
    }
  }

  static std::size_t fast_encode(const float* in, std::size_t blocks, std::byte* out) {
    return simd::encode_q6_k(in, blocks, out);
  }
  static std::size_t fast_decode(const std::byte* in, std::size_t blocks, float* out) {
    return simd::decode_q6_k(in, blocks, out);
  }

 private:
  /// The codes for the scales as they are stored, but for those that are 0.
  static void find_codes(const Values& values, const Q6Scales& scales, Codes& codes) noexcept {
    for (std::size_t j = 0; j < kQ6SubBlocks; ++j) {
      const float scale = scales.scale(j);
      if (scale == 0) continue;
      for (std::size_t i = j * kQ6SubBlockElements; i < (j + 1) * kQ6SubBlockElements; ++i)
        codes[i] = static_cast<std::uint8_t>(
            std::clamp(nearest_int(values[i] / scale), -kQ6Half, kQ6Half - 1) + kQ6Half);
    }
  }

  static void pack(const Codes& codes, std::byte* out) noexcept {
    for (std::size_t half = 0; half < 2; ++half)
      for (std::size_t l = 0; l < 32; ++l) {
        const std::uint8_t* q = &codes[128 * half + l];
        const auto nibbles = [q](std::size_t low, std::size_t high) {
          return static_cast<std::uint8_t>((q[low] & 15) | ((q[high] & 15) << 4));
        };
        store(out + 64 * half + l, nibbles(0, 64));
        store(out + 64 * half + 32 + l, nibbles(32, 96));
        store(out + kHighAt + 32 * half + l,
              static_cast<std::uint8_t>((q[0] >> 4) | (q[32] >> 4 << 2) | (q[64] >> 4 << 4) |
                                        (q[96] >> 4 << 6)));
      }
  }
};

}  // namespace

std::shared_ptr<const Codec> make_q6_k(CodePath path) {
  return std::make_shared<BlockCodec<Q6KFormat>>(path);
}

}  // namespace synps
