#pragma once

#include <algorithm>
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
#include "synps/error.h"

namespace synps {

/// A codec that stores one element a value, any rank. `Format` provides
///   Bits                         unsigned integer of the stored element's size
///   kInfinity                    bits of +infinity
///   info()                       the codec's facts
///   static Bits encode(float)    not needed when info().encodes is false
///   static float decode(Bits)
///   static std::size_t fast_encode(const float*, std::size_t count, std::byte*)
///   static std::size_t fast_decode(const std::byte*, std::size_t count, float*)
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

  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    if constexpr (requires { Format::encode(0.0f); }) {
      assert(out[0].size() == values.size() * sizeof(Bits));
      const auto run = [&](std::size_t first, std::size_t count, std::byte* to) {
        encode_run(values.subspan(first, count), piece.first_element + first, to, report);
      };
      simd::StreamingOutput(out[0].size())
          .fill(values.size(), std::as_bytes(values).data(), sizeof(float), out[0].data(),
                sizeof(Bits), run);
    } else {
      Problem problem;
      problem.code = ErrorCode::usage;
      problem.what = info_.id() + " is only read, never written";
      problem.hint = "choose f32";
      throw Error(std::move(problem));
    }
  }

  void decode(const Piece&, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    assert(in[0].size() == out.size() * sizeof(Bits));
    const std::byte* from = in[0].data();
    const auto run = [&](std::size_t first, std::size_t count, std::byte* to) {
      decode_run(from + first * sizeof(Bits), count, reinterpret_cast<float*>(to));
    };
    simd::StreamingOutput(out.size_bytes())
        .fill(out.size(), from, sizeof(Bits), std::as_writable_bytes(out).data(), sizeof(float),
              run);
  }

 private:
  void encode_run(std::span<const float> values, std::uint64_t first, std::byte* out,
                  ValueReport& report) const {
    for (std::size_t i = 0; i < values.size();) {
      if (path_ == CodePath::fast)
        i += Format::fast_encode(values.data() + i, values.size() - i, out + i * sizeof(Bits));
      for (const std::size_t end = reference_end(i, values.size()); i < end; ++i) {
        const Bits bits = Format::encode(values[i]);
        note(values[i], bits, first + i, report);
        store(out + i * sizeof(Bits), bits);
      }
    }
  }

  void decode_run(const std::byte* in, std::size_t count, float* out) const {
    for (std::size_t i = 0; i < count;) {
      if (path_ == CodePath::fast)
        i += Format::fast_decode(in + i * sizeof(Bits), count - i, out + i);
      for (const std::size_t end = reference_end(i, count); i < end; ++i)
        out[i] = Format::decode(load<Bits>(in + i * sizeof(Bits)));
    }
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
