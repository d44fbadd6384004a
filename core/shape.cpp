#include "synps/shape.h"

#include <fmt/format.h>

#include <utility>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

constexpr std::size_t kShownRank = 16;

/// Product of [begin, end), or nothing when it does not fit. A zero extent makes the product zero
/// however large the others are.
std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& extents, std::size_t end) {
  for (std::size_t i = 0; i < end; ++i)
    if (extents[i] == 0) return 0;
  std::uint64_t result = 1;
  for (std::size_t i = 0; i < end; ++i) {
    const auto next = checked_mul(result, extents[i]);
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

}  // namespace

std::optional<Shape> Shape::make(std::vector<std::uint64_t> extents) {
  const std::size_t leading = extents.empty() ? 0 : extents.size() - 1;
  const auto elements = product(extents, extents.size());
  const auto rows = product(extents, leading);
  if (!elements || !rows) return std::nullopt;
  Shape shape;
  shape.extents_ = std::move(extents);
  shape.elements_ = *elements;
  shape.rows_ = *rows;
  return shape;
}

Shape::Shape(std::vector<std::uint64_t> extents) {
  auto made = make(std::move(extents));
  if (!made)
    throw Error({.code = ErrorCode::limit,
                 .what = "a shape's element count does not fit 64 bits",
                 .want = "fewer than 2^64 elements"});
  *this = std::move(*made);
}

Shape::Shape(std::initializer_list<std::uint64_t> extents)
    : Shape(std::vector<std::uint64_t>(extents)) {}

std::optional<std::uint64_t> Shape::bytes(DType dtype) const noexcept {
  const std::uint64_t bits = dtype_bits(dtype);
  // Not through a count of bits: 2^61 bytes and more are sizes, too.
  if (bits % 8 == 0) return checked_mul(elements_, bits / 8);
  const auto total = checked_mul(elements_, bits);
  if (!total || *total % 8 != 0) return std::nullopt;
  return *total / 8;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (std::size_t i = 0; i < extents_.size() && i < kShownRank; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", extents_[i]);
  if (extents_.size() > kShownRank) text += fmt::format(", … ({} extents)", extents_.size());
  return text + "]";
}

}  // namespace synps
