#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "bytes.h"
#include "codec_layout.h"
#include "float_bits.h"
#include "synps/codec.h"
#include "synps/error.h"

namespace synps {

/// A codec that stores one element a value, any rank. `Format` provides
///   Bits                         unsigned integer of the stored element's size
///   kInfinity                    bits of +infinity
///   info()                       the codec's facts
///   static Bits encode(float)    not needed when info().encodes is false
///   static float decode(Bits)
template <typename Format>
class DenseCodec final : public Codec {
 public:
  using Bits = typename Format::Bits;

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
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Bits bits = Format::encode(values[i]);
        note(values[i], bits, piece.first_element + i, report);
        store(out[0].data() + i * sizeof(Bits), bits);
      }
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
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = Format::decode(load<Bits>(in[0].data() + i * sizeof(Bits)));
  }

 private:
  static void note(float value, Bits bits, std::uint64_t index, ValueReport& report) noexcept {
    constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
    const Bits magnitude = bits & kMagnitude;
    if (magnitude == Format::kInfinity && f32_is_finite(value)) report.overflow.add(index, value);
    if (magnitude == 0 && value != 0) report.underflow.add(index, value);
  }

  CodecInfo info_ = Format::info();
};

}  // namespace synps
