#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "synps/builtin_codecs.h"
#include "synps/codec.h"

namespace synps::testing {

/// A sound codec with one of its answers spoiled.
class SpoiledCodec final : public Codec {
 public:
  using Encode = std::function<void(std::span<const std::span<std::byte>>, ValueReport&)>;

  explicit SpoiledCodec(const std::string& sound)
      : SpoiledCodec(*builtin_registry().resolve(sound)) {}
  explicit SpoiledCodec(const Codec& sound) : facts(sound.info()), sound_(sound) {}

  CodecInfo facts;
  Encode after_encode = [](auto, auto&) {};
  std::function<void(std::span<float>)> after_decode = [](auto) {};
  std::function<void(std::vector<Component>&)> after_components = [](auto&) {};

  const CodecInfo& info() const noexcept override { return facts; }
  Support supports(const Weight& weight) const override { return sound_.supports(weight); }
  std::vector<Component> components(const Weight& weight) const override {
    auto components = sound_.components(weight);
    after_components(components);
    return components;
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    return sound_.row_bytes(component, columns);
  }
  std::uint64_t row_granule() const noexcept override { return sound_.row_granule(); }
  void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    std::vector<std::byte> last;
    for (const auto& bytes : out) last.push_back(bytes.empty() ? std::byte{} : bytes.back());
    sound_.encode(piece, values, analysis, out, report);
    after_encode(out, report);
    if (!leaves_last_byte) return;
    for (std::size_t c = 0; c < out.size(); ++c)
      if (!out[c].empty()) out[c].back() = last[c];
  }
  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    sound_.decode(piece, in, out);
    after_decode(out);
  }

  bool leaves_last_byte = false;

 private:
  const Codec& sound_;
};

}  // namespace synps::testing
