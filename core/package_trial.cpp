#include "package_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "synps/error.h"

namespace synps {
namespace {

using Bytes = std::vector<std::byte>;

/// Values that every codec meets: both signs, zeros, small and large ones. With `odd`, also those
/// that few codecs can store.
std::vector<float> trial_values(std::size_t count, bool odd) {
  std::vector<float> values(count);
  std::uint32_t state = 1;  // a linear congruential sequence
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    const auto upper = static_cast<std::int32_t>(state >> 8) - (1 << 23);
    value = (state >> 28) == 0 ? 0.0f : static_cast<float>(upper) / 8388608.0f;
  }
  using Limits = std::numeric_limits<float>;
  const float strange[] = {Limits::quiet_NaN(), -0.0f, Limits::infinity(), Limits::max(),
                           Limits::denorm_min()};
  for (std::size_t i = 0; odd && i < std::size(strange) && i * 7 < count; ++i)
    values[i * 7] = strange[i];
  return values;
}

/// One weight that goes through the codec.
class Trial {
 public:
  Trial(const Codec& codec, const Shape& shape)
      : codec_(codec),
        weight_{"trial " + shape.to_string(), shape, DType::f32},
        components_(codec.components(weight_)) {}

  void run() {
    for (const bool odd : {false, true}) {
      const Piece whole{&weight_, 0, weight_.shape.rows(), weight_.shape.columns()};
      if (codec_.info().encodes)
        encode(trial_values(whole.elements(), odd));
      else
        take_any_bytes();
      const std::vector<float> values = decode({whole});
      if (!same(values, decode(cut()))) fail("decode gives other values for a piece than for all");
    }
  }

 private:
  std::vector<Piece> cut() const;
  void encode(const std::vector<float>& values);
  std::vector<Bytes> encode(const std::vector<float>& values, const std::vector<Piece>& pieces);
  void take_any_bytes();
  std::vector<float> decode(const std::vector<Piece>& pieces) const;
  /// Bytes of a piece in component `c`.
  std::span<std::byte> range(std::vector<Bytes>& stored, std::size_t c, const Piece& piece) const;
  static bool same(const std::vector<float>& a, const std::vector<float>& b);
  [[noreturn]] void fail(const char* what) const;

  const Codec& codec_;
  Weight weight_;
  std::vector<Component> components_;
  mutable std::vector<Bytes> stored_;  // by component
};

void Trial::fail(const char* what) const {
  throw Error({.code = ErrorCode::package,
               .file = codec_.info().file,
               .what = fmt::format("codec {}: {}", codec_.info().id(), what),
               .field = weight_.path,
               .hint = "the codec package is at fault, not the file or the policy"});
}

/// Row by row, and rows at every granule where that is possible.
std::vector<Piece> Trial::cut() const {
  const std::uint64_t columns = weight_.shape.columns();
  const std::uint64_t granule = codec_.row_granule();
  const std::uint64_t step = granule == 0 ? columns : std::min(granule, columns);
  std::vector<Piece> pieces;
  for (std::uint64_t row = 0; row < weight_.shape.rows(); ++row)
    for (std::uint64_t at = 0; at < columns; at += step)
      pieces.push_back({&weight_, row * columns + at, 1, std::min(step, columns - at)});
  return pieces;
}

std::span<std::byte> Trial::range(std::vector<Bytes>& stored, std::size_t c,
                                  const Piece& piece) const {
  if (components_[c].per_weight) return stored[c];
  const std::uint64_t columns = weight_.shape.columns();
  const std::uint64_t begin = piece.first_element / columns * codec_.row_bytes(c, columns) +
                              codec_.row_bytes(c, piece.first_element % columns);
  const std::uint64_t size = piece.rows * codec_.row_bytes(c, piece.columns);
  if (begin > stored[c].size() || size > stored[c].size() - begin)
    fail("row_bytes gives parts of a row that do not add up");
  return std::span(stored[c]).subspan(begin, size);
}

std::vector<Bytes> Trial::encode(const std::vector<float>& values,
                                 const std::vector<Piece>& pieces) {
  std::vector<Bytes> stored;
  for (const Component& component : components_) stored.emplace_back(component.bytes);
  const std::unique_ptr<Analysis> analysis = codec_.begin_analysis(weight_);
  if (analysis) {
    for (const Piece& piece : pieces)
      analysis->add(std::span(values).subspan(piece.first_element, piece.elements()));
    for (std::size_t c = 0; c < stored.size(); ++c)
      if (components_[c].per_weight) analysis->store(c, stored[c]);
  }
  for (const Piece& piece : pieces) {
    std::vector<std::span<std::byte>> out(stored.size());
    for (std::size_t c = 0; c < stored.size(); ++c)
      if (!components_[c].per_weight) out[c] = range(stored, c, piece);
    ValueReport report;
    codec_.encode(piece, std::span(values).subspan(piece.first_element, piece.elements()),
                  analysis.get(), out, report);
  }
  return stored;
}

void Trial::encode(const std::vector<float>& values) {
  stored_ = encode(values, {{&weight_, 0, weight_.shape.rows(), weight_.shape.columns()}});
  if (encode(values, cut()) != stored_) fail("encode gives other bytes for a piece than for all");
}

void Trial::take_any_bytes() {
  stored_.clear();
  for (const Component& component : components_) {
    stored_.emplace_back(component.bytes);
    for (std::size_t i = 0; i < stored_.back().size(); ++i)
      stored_.back()[i] = static_cast<std::byte>(i * 37 + 11);
  }
}

std::vector<float> Trial::decode(const std::vector<Piece>& pieces) const {
  std::vector<float> values(weight_.shape.elements());
  for (const Piece& piece : pieces) {
    std::vector<std::span<const std::byte>> in;
    for (std::size_t c = 0; c < components_.size(); ++c) in.push_back(range(stored_, c, piece));
    codec_.decode(piece, in, std::span(values).subspan(piece.first_element, piece.elements()));
  }
  return values;
}

bool Trial::same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
  });
}

}  // namespace

void try_package_codec(const Codec& codec) {
  std::vector<Shape> shapes{{1}, {7}, {256}, {3, 5}, {2, 2, 32}, {3, 256}, {2, 1024}, {1, 4096}};
  // Blocks of any length that is still small.
  if (const std::uint64_t granule = codec.row_granule(); granule > 1 && granule <= 65536)
    shapes.push_back({3, 2 * granule});
  for (const Shape& shape : shapes)
    if (codec.supports({"trial " + shape.to_string(), shape, DType::f32}).ok)
      Trial(codec, shape).run();
}

}  // namespace synps
