#include "package_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "package_codec.h"
#include "synps/checked.h"
#include "synps/codec_package.h"
#include "synps/testing/small_floats.h"

namespace synps {
namespace {

using Bytes = std::vector<std::byte>;

/// More than any codec stores for the trial's weights.
constexpr std::uint64_t kMostTrialBytes = std::uint64_t{64} << 20;
/// Values of a dtype that go through a codec that claims to store it exactly.
constexpr std::size_t kExactValues = 4096;
/// Codecs that cut rows at larger units are tried with less.
constexpr std::uint64_t kLargestGranule = 65536;

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
  Trial(const Codec& codec, const Shape& shape, DType dtype = DType::f32)
      : codec_(codec),
        weight_{"trial " + shape.to_string(), shape, dtype},
        components_(codec.components(weight_)) {
    check_size();
  }

  void run() {
    for (const bool odd : {false, true})
      run(trial_values(weight_.shape.elements(), odd), cut_everywhere());
  }
  void run_long() { run(trial_values(weight_.shape.elements(), false), cut_once()); }
  /// Values that must come back.
  void run_exact(const std::vector<float>& values) {
    ValueReport report;
    stored_ = encode(values, {whole()}, report);
    if (!same(values, decode({whole()})))
      fail("not every value comes back of a dtype that it claims to store exactly",
           std::string(dtype_name(weight_.dtype)));
  }

 private:
  Piece whole() const { return {&weight_, 0, weight_.shape.rows(), weight_.shape.columns()}; }
  std::vector<Piece> cut_everywhere() const;
  std::vector<Piece> cut_once() const;
  void check_size() const;
  void run(const std::vector<float>& values, const std::vector<Piece>& pieces);
  void check_non_finite(const std::vector<float>& values, const std::vector<float>& back,
                        const ValueReport& report) const;
  std::vector<Bytes> encode(const std::vector<float>& values, const std::vector<Piece>& pieces,
                            ValueReport& report) const;
  void take_any_bytes();
  std::vector<float> decode(const std::vector<Piece>& pieces) const;
  /// Bytes of a piece in component `c`.
  std::span<std::byte> range(std::vector<Bytes>& stored, std::size_t c, const Piece& piece) const;
  static bool same(const std::vector<float>& a, const std::vector<float>& b);
  [[noreturn]] void fail(const char* what, std::string found = {}) const;

  const Codec& codec_;
  Weight weight_;
  std::vector<Component> components_;
  mutable std::vector<Bytes> stored_;  // by component
};

void Trial::fail(const char* what, std::string found) const {
  throw_codec_fault(codec_.info(), weight_.path, what, std::move(found));
}

/// Before any of it is allocated.
void Trial::check_size() const {
  std::uint64_t bytes = 0;
  for (const Component& component : components_) {
    const auto sum = checked_add(bytes, component.bytes);
    bytes = sum.value_or(~std::uint64_t{0});
  }
  if (bytes > kMostTrialBytes)
    fail("components asks for too much for a small weight", fmt::format("{} bytes", bytes));
}

void Trial::run(const std::vector<float>& values, const std::vector<Piece>& pieces) {
  ValueReport report;
  if (codec_.info().encodes) {
    ValueReport report_of_pieces;
    stored_ = encode(values, {whole()}, report);
    if (encode(values, pieces, report_of_pieces) != stored_)
      fail("encode gives other bytes for a piece than for all");
  } else {
    take_any_bytes();
  }
  const std::vector<float> back = decode({whole()});
  if (!same(back, decode(pieces))) fail("decode gives other values for a piece than for all");
  if (codec_.info().encodes) check_non_finite(values, back, report);
}

/// NaN and infinities are reported, every one, or come back.
void Trial::check_non_finite(const std::vector<float>& values, const std::vector<float>& back,
                             const ValueReport& report) const {
  const auto is_one = [](float value) { return !std::isfinite(value); };
  const auto there =
      static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), is_one));
  if (report.non_finite.count == there) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (is_one(values[i]) && !same({values[i]}, {back[i]}))
      fail("encode reports only some of the values that are not finite, and not all come back",
           fmt::format("{} of {}", report.non_finite.count, there));
}

/// Before the last part of the weight.
std::vector<Piece> Trial::cut_once() const {
  const std::uint64_t columns = weight_.shape.columns();
  const std::uint64_t rows = weight_.shape.rows();
  if (rows > 1)
    return {{&weight_, 0, rows - 1, columns}, {&weight_, (rows - 1) * columns, 1, columns}};
  const std::uint64_t at = columns - codec_.row_granule();
  return {{&weight_, 0, 1, at}, {&weight_, at, 1, columns - at}};
}

/// Row by row, and rows at every granule where that is possible.
std::vector<Piece> Trial::cut_everywhere() const {
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
  const auto before = checked_mul(piece.first_element / columns, codec_.row_bytes(c, columns));
  const auto begin =
      before ? checked_add(*before, codec_.row_bytes(c, piece.first_element % columns)) : before;
  const auto size = checked_mul(piece.rows, codec_.row_bytes(c, piece.columns));
  if (!begin || !size || !range_fits(*begin, *size, stored[c].size()))
    fail("row_bytes gives parts of a row that do not add up");
  return std::span(stored[c]).subspan(*begin, *size);
}

std::vector<Bytes> Trial::encode(const std::vector<float>& values, const std::vector<Piece>& pieces,
                                 ValueReport& report) const {
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
    codec_.encode(piece, std::span(values).subspan(piece.first_element, piece.elements()),
                  analysis.get(), out, report);
  }
  return stored;
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

bool supports(const Codec& codec, const Shape& shape, DType dtype) {
  return codec.supports({"trial " + shape.to_string(), shape, dtype}).ok;
}

/// A weight that a package gets in three parts: one row, cut, where that can be.
Shape long_shape(const Codec& codec) {
  const std::uint64_t granule = codec.row_granule();
  if (granule == 0) return {2 * kPackagePart / 1024 + 1, 1024};
  const std::uint64_t part = std::max(granule, kPackagePart / granule * granule);
  return {1, 2 * part + granule};
}

/// Some of the values of a dtype, spread over all of them.
std::vector<float> some_values_of(DType dtype) {
  const std::vector<float> all = testing::values_of(dtype);
  const std::size_t step = all.size() / kExactValues | 1;  // odd: fractions of every kind
  std::vector<float> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

void try_exact(const Codec& codec, DType dtype) {
  std::vector<float> values = some_values_of(dtype);
  const std::uint64_t granule = std::max<std::uint64_t>(1, codec.row_granule());
  if (values.empty() || granule > kLargestGranule) return;
  const std::uint64_t columns = std::max<std::uint64_t>(1, 256 / granule) * granule;
  const std::uint64_t rows = (values.size() + columns - 1) / columns;
  values.resize(rows * columns);
  const Shape shape{rows, columns};
  if (supports(codec, shape, dtype)) Trial(codec, shape, dtype).run_exact(values);
}

}  // namespace

void try_package_codec(const Codec& codec) {
  std::vector<Shape> shapes{{1}, {7}, {256}, {3, 5}, {2, 2, 32}, {3, 256}, {2, 1024}, {1, 4096}};
  // Blocks of any length that is still small.
  if (const std::uint64_t granule = codec.row_granule(); granule > 1 && granule <= kLargestGranule)
    shapes.push_back({3, 2 * granule});
  for (const Shape& shape : shapes)
    if (supports(codec, shape, DType::f32)) Trial(codec, shape).run();
  if (codec.row_granule() > kLargestGranule) return;
  if (const Shape shape = long_shape(codec); supports(codec, shape, DType::f32))
    Trial(codec, shape).run_long();
  if (!codec.info().encodes) return;
  for (const DType dtype : codec.info().exact) try_exact(codec, dtype);
}

}  // namespace synps
