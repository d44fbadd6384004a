#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "synps/dtype.h"

namespace synps {

/// The extents of a tensor, outermost first. Rank 0 is a scalar with one element. Every Shape that
/// exists has an element count that fits 64 bits.
class Shape {
 public:
  Shape() = default;
  /// Throws Error(limit) when the element count does not fit 64 bits.
  explicit Shape(std::vector<std::uint64_t> extents);
  Shape(std::initializer_list<std::uint64_t> extents);

  /// The same, or nothing when the element count does not fit 64 bits.
  static std::optional<Shape> make(std::vector<std::uint64_t> extents);

  const std::vector<std::uint64_t>& extents() const noexcept { return extents_; }
  std::size_t rank() const noexcept { return extents_.size(); }
  /// Elements in all; 1 for a scalar.
  std::uint64_t elements() const noexcept { return elements_; }
  /// Elements of one row: the last extent; 1 for a scalar.
  std::uint64_t columns() const noexcept { return extents_.empty() ? 1 : extents_.back(); }
  /// Product of all extents but the last; 1 for rank 0 and 1.
  std::uint64_t rows() const noexcept { return rows_; }

  /// Bytes that elements() elements of `dtype` take, packed; nothing when that does not fit 64
  /// bits or is not a whole number of bytes.
  std::optional<std::uint64_t> bytes(DType dtype) const noexcept;

  /// "[2, 3]"; "[]" for a scalar. A long shape (rank over 16) is cut with an ellipsis.
  std::string to_string() const;

  bool operator==(const Shape& other) const noexcept { return extents_ == other.extents_; }

 private:
  std::vector<std::uint64_t> extents_;
  std::uint64_t elements_ = 1;
  std::uint64_t rows_ = 1;
};

}  // namespace synps
