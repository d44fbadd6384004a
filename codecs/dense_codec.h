#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "bytes.h"
#include "code_path.h"
#include "codec_layout.h"
#include "float_bits.h"
#include "simd/kernels.h"
#include "simd/streaming.h"
#include "synps/codec.h"

namespace synps {

/// A codec that stores one element a value, any rank. `Format` provides
///   Bits                         unsigned integer of the stored element's size
///   kInfinity                    bits of +infinity
///   info()                       the codec's facts
///   static Bits encode(float)    not needed when info().encodes is false
///   static float decode(Bits)
///   static std::size_t fast_encode(const float*, std::size_t count, std::byte*, simd::Stores)
///   static std::size_t fast_decode(const std::byte*, std::size_t count, float*, simd::Stores)
/// where the last two are what simd/kernels.h calls kernels: they do a part of the run, for which
/// there is nothing to report.
template <typename Format>
class DenseCodec final : public Codec {
 public:
  using Bits = typename Format::Bits;

  explicit DenseCodec(CodePath path) : path_(path) {}

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight&) const override { return Support::yes(); }

  std::vector<Component> components(const Weight& weight) const override {
    return {dense_component(weight, *info_.dense_dtype)};
  }
  std::uint64_t row_bytes(std::size_t, std::uint64_t columns) const override {
    return columns * sizeof(Bits);
  }
  std::uint64_t row_granule() const noexcept override { return 1; }
  bool stores_native_f32() const noexcept override {
    return std::endian::native == std::endian::little && info_.dense_dtype == DType::f32;
  }

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    if constexpr (requires { Format::encode(0.0f); }) {
      assert(out[0].size() == values.size() * sizeof(Bits));
      const std::size_t plain = elements_before_streaming(
          values.size_bytes() + out[0].size(), out[0].data(), values.size(), sizeof(Bits));
      encode_run(values.first(plain), piece.first_element, out[0].data(), simd::Stores::cached,
                 report);
      encode_run(values.subspan(plain), piece.first_element + plain,
                 out[0].data() + plain * sizeof(Bits), simd::Stores::streamed, report);
      if (plain < values.size()) simd::finish_streaming();
    } else {
      throw_read_only(info_, "choose f32");
    }
  }

  void decode(const Piece&, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    assert(in[0].size() == out.size() * sizeof(Bits));
    const std::size_t plain = elements_before_streaming(
        in[0].size() + out.size_bytes(), std::as_bytes(out).data(), out.size(), sizeof(float));
    decode_run(in[0].data(), out.first(plain), simd::Stores::cached);
    decode_run(in[0].data() + plain * sizeof(Bits), out.subspan(plain), simd::Stores::streamed);
    if (plain < out.size()) simd::finish_streaming();
  }

 private:
  void encode_run(std::span<const float> values, std::uint64_t first, std::byte* out,
                  simd::Stores stores, ValueReport& report) const {
    for (std::size_t i = 0; i < values.size();) {
      if (path_ == CodePath::fast)
        i += Format::fast_encode(values.data() + i, values.size() - i, out + i * sizeof(Bits),
                                 stores);
      for (const std::size_t end = reference_end(i, values.size()); i < end; ++i) {
        const Bits bits = Format::encode(values[i]);
        note(values[i], bits, first + i, report);
        store(out + i * sizeof(Bits), bits);
      }
    }
  }

  void decode_run(const std::byte* in, std::span<float> out, simd::Stores stores) const {
    for (std::size_t i = 0; i < out.size();) {
      if (path_ == CodePath::fast)
        i += Format::fast_decode(in + i * sizeof(Bits), out.size() - i, out.data() + i, stores);
      for (const std::size_t end = reference_end(i, out.size()); i < end; ++i)
        out[i] = Format::decode(load<Bits>(in + i * sizeof(Bits)));
    }
  }

  /// How many elements of an output at `out` are written as usual: all, where `moved` bytes in all
  /// are few or lines do not begin between elements; else those before the first line.
  std::size_t elements_before_streaming(std::size_t moved, const std::byte* out, std::size_t count,
                                        std::size_t element) const noexcept {
    if (path_ != CodePath::fast || !simd::worth_streaming(moved)) return count;
    const std::size_t bytes = simd::bytes_to_line(out);
    return bytes % element == 0 ? std::min(count, bytes / element) : count;
  }

  /// Where the reference, called at `i`, leaves the rest to the kernel again.
  std::size_t reference_end(std::size_t i, std::size_t count) const noexcept {
    return path_ == CodePath::fast ? std::min(count, i + simd::kElementStep) : count;
  }

  static void note(float value, Bits bits, std::uint64_t index, ValueReport& report) noexcept {
    constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
    const Bits magnitude = bits & kMagnitude;
    if (magnitude == Format::kInfinity && f32_is_finite(value)) report.overflow.add(index, value);
    if (magnitude == 0 && value != 0) report.underflow.add(index, value);
  }

  CodePath path_;
  CodecInfo info_ = Format::info();
};

}  // namespace synps
