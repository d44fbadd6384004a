#include "kernel_choice.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "simd/targets.h"

#include <hwy/highway.h>

namespace synps {
namespace {

/// As many elements as the widest kernel does at once: eight blocks of 256.
constexpr std::uint64_t kElements = 2048;

/// Values of many magnitudes, zeros of both signs and equal neighbours among them. Nothing that a
/// codec refuses: that is the scalar code's anyway.
std::vector<float> trial_values() {
  std::vector<float> values(kElements);
  std::uint32_t state = 0x9E3779B9u;
  for (std::uint64_t i = 0; i < kElements; ++i) {
    state = state * 1664525u + 1013904223u;
    const auto mantissa = static_cast<float>(static_cast<std::int32_t>(state) >> 8);
    const int exponent = static_cast<int>(i / 256) * 3 - 36;  // a magnitude for each 256
    values[i] = std::ldexp(mantissa, exponent);
    if (i % 37 == 0) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
    if (i % 41 == 1) values[i] = -values[i - 1];
  }
  return values;
}

struct Stored {
  std::vector<std::vector<std::byte>> components;

  bool operator==(const Stored&) const = default;
};

Stored encoded(const Codec& codec, const Piece& piece, std::span<const float> values) {
  Stored stored;
  const std::vector<Component> components = codec.components(*piece.weight);
  std::vector<std::span<std::byte>> rows;
  for (const Component& component : components) stored.components.emplace_back(component.bytes);
  const std::unique_ptr<Analysis> analysis = codec.begin_analysis(*piece.weight);
  if (analysis != nullptr) analysis->add(values);
  for (std::size_t c = 0; c < components.size(); ++c) {
    const std::span<std::byte> bytes = stored.components[c];
    if (components[c].per_weight) analysis->store(c, bytes);
    rows.push_back(components[c].per_weight ? bytes.first(0) : bytes);
  }
  ValueReport report;
  codec.encode(piece, values, analysis.get(), rows, report);
  return stored;
}

std::vector<float> decoded(const Codec& codec, const Piece& piece, const Stored& stored) {
  const std::vector<std::span<const std::byte>> in(stored.components.begin(),
                                                   stored.components.end());
  std::vector<float> values(kElements);
  codec.decode(piece, in, values);
  return values;
}

/// Bytes that no encoder made, for codecs that only decode.
Stored made_up(const Codec& codec, const Weight& weight) {
  Stored stored;
  std::uint32_t state = 1;
  for (const Component& component : codec.components(weight)) {
    stored.components.emplace_back(component.bytes);
    for (std::byte& byte : stored.components.back()) {
      state = state * 1664525u + 1013904223u;
      byte = static_cast<std::byte>(state >> 24);
    }
  }
  return stored;
}

/// Equal bits; of NaN, that it is one: decoding defines no more.
bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    if (!same && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

bool agrees(const Codec& fast, const Codec& reference, std::span<const float> values) {
  const Weight weight{"trial", Shape({1, kElements}), DType::f32};
  if (!fast.supports(weight).ok) return true;
  const Piece piece{&weight, 0, 1, kElements};
  const Stored bytes = fast.info().encodes ? encoded(reference, piece, values) : Stored{};
  if (fast.info().encodes && encoded(fast, piece, values) != bytes) return false;
  const Stored& stored = fast.info().encodes ? bytes : made_up(fast, weight);
  return same_values(decoded(fast, piece, stored), decoded(reference, piece, stored));
}

}  // namespace

bool kernels_agree(const std::vector<std::shared_ptr<const Codec>>& fast,
                   const std::vector<std::shared_ptr<const Codec>>& reference) {
  const std::vector<float> values = trial_values();
  for (std::size_t i = 0; i < fast.size(); ++i)
    if (!agrees(*fast[i], *reference[i], values)) return false;
  return true;
}

#if (HWY_TARGETS & HWY_AVX3) != 0 && !defined(HWY_COMPILE_ONLY_STATIC)

void trust_avx512_if(const std::function<bool()>& agree) {
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0 || agree()) return;
  hwy::DisableTargets(HWY_AVX3);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

#else

void trust_avx512_if(const std::function<bool()>&) {}

#endif

}  // namespace synps
