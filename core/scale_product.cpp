#include "synps/scale_product.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace synps {
namespace {

/// A number for every row: the weight's extents without the last, perhaps with a 1 in its place.
bool is_row_scale(const std::vector<std::uint64_t>& weight,
                  const std::vector<std::uint64_t>& scale) {
  const std::size_t outer = weight.size() - 1;
  if (scale.size() != outer && !(scale.size() == weight.size() && scale.back() == 1)) return false;
  return std::equal(weight.begin(), weight.end() - 1, scale.begin());
}

bool is_block_scale(const std::vector<std::uint64_t>& weight,
                    const std::vector<std::uint64_t>& scale) {
  if (scale.size() != weight.size()) return false;
  const std::size_t rows = weight.size() - 2;
  for (std::size_t d = 0; d < weight.size(); ++d)
    if (scale[d] != (d < rows ? weight[d] : scale_blocks(weight[d]))) return false;
  return true;
}

/// Scales within these bounds make no product of an 8-bit float overflow, or lose bits to
/// underflow: its magnitudes lie from 2^-17 to 2^16.
constexpr float kSmallest = 0x1p-109f;
constexpr float kLargest = 0x1p+111f;

/// Where numbers of a scale stand for a weight's elements.
class ScaleGrid {
 public:
  ScaleGrid(const Shape& weight, ScaleForm form)
      : form_(form), columns_(std::max<std::uint64_t>(weight.columns(), 1)) {
    if (form != ScaleForm::block) return;
    rows_ = weight.extents()[weight.rank() - 2];
    row_blocks_ = scale_blocks(rows_);
    column_blocks_ = scale_blocks(columns_);
  }

  std::uint64_t columns() const noexcept { return columns_; }
  ScaleForm form() const noexcept { return form_; }

  /// The number for a row's element at `column`.
  std::uint64_t number(std::uint64_t row, std::uint64_t column) const noexcept {
    if (form_ == ScaleForm::tensor) return 0;
    if (form_ == ScaleForm::row) return row;
    const std::uint64_t block_row = row / rows_ * row_blocks_ + row % rows_ / kScaleBlock;
    return block_row * column_blocks_ + column / kScaleBlock;
  }

 private:
  ScaleForm form_;
  std::uint64_t columns_;
  std::uint64_t rows_ = 1;  ///< of one matrix
  std::uint64_t row_blocks_ = 1;
  std::uint64_t column_blocks_ = 1;
};

/// Multiplies values that have the same scale.
void scale_run(std::span<float> values, float scale, std::uint64_t first_element,
               ValueReport& report) {
  if (const float magnitude = std::abs(scale); magnitude >= kSmallest && magnitude <= kLargest) {
    for (float& value : values) value *= scale;
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float code = values[i];
    const float product = code * scale;
    values[i] = product;
    if (std::isinf(product) && std::isfinite(code))
      report.overflow.add(first_element + i, static_cast<double>(code) * scale);
    else if (product == 0 && code != 0)
      report.underflow.add(first_element + i, static_cast<double>(code) * scale);
  }
}

}  // namespace

std::optional<ScaleForm> scale_form(const Shape& weight, const Shape& scale) {
  if (scale.elements() == 1) return ScaleForm::tensor;
  if (weight.rank() < 2) return std::nullopt;
  if (is_row_scale(weight.extents(), scale.extents())) return ScaleForm::row;
  if (is_block_scale(weight.extents(), scale.extents())) return ScaleForm::block;
  return std::nullopt;
}

ScaleRange scale_range(const Shape& weight, ScaleForm form, const Piece& piece) noexcept {
  const ScaleGrid grid(weight, form);
  const std::uint64_t columns = grid.columns();
  const std::uint64_t last = piece.first_element + piece.elements() - 1;
  const std::uint64_t first_row = piece.first_element / columns;
  const std::uint64_t last_row = last / columns;
  // Of several rows all columns: their numbers follow each other.
  const bool one_row = first_row == last_row;
  const std::uint64_t begin = grid.number(first_row, one_row ? piece.first_element % columns : 0);
  const std::uint64_t end = grid.number(last_row, one_row ? last % columns : columns - 1) + 1;
  return {begin, end - begin};
}

void multiply_by_scale(const Shape& weight, ScaleForm form, const Piece& piece,
                       std::span<const float> numbers, std::span<float> values,
                       ValueReport& report) {
  if (values.empty()) return;
  const ScaleGrid grid(weight, form);
  const std::uint64_t begin = scale_range(weight, form, piece).first;
  const std::uint64_t columns = grid.columns();
  const std::uint64_t last = piece.first_element + values.size() - 1;
  for (std::uint64_t at = piece.first_element; at <= last;) {
    const std::uint64_t row = at / columns;
    const std::uint64_t column = at % columns;
    std::uint64_t run = last + 1 - at;
    if (form != ScaleForm::tensor) run = std::min(run, columns - column);
    if (form == ScaleForm::block) run = std::min(run, kScaleBlock - column % kScaleBlock);
    const auto offset = static_cast<std::size_t>(at - piece.first_element);
    scale_run(values.subspan(offset, static_cast<std::size_t>(run)),
              numbers[static_cast<std::size_t>(grid.number(row, column) - begin)], at, report);
    at += run;
  }
}

std::optional<std::uint64_t> unusable_number(std::span<const float> numbers) noexcept {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!std::isfinite(numbers[i]) || numbers[i] == 0) return i;
  return std::nullopt;
}

}  // namespace synps
