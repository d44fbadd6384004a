#include "scale_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "companion_scales.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "value_problems.h"

namespace synps {
namespace {

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

[[noreturn]] void refuse(const Checkpoint& checkpoint, const SourceTensor& scale,
                         std::uint64_t number, float value) {
  Problem problem{.code = ErrorCode::checkpoint,
                  .file = checkpoint.file_of(scale).path(),
                  .what = "a scale that no weight can be multiplied by",
                  .field = scale.weight.path};
  if (scale.stored == nullptr) problem.offset = scale.offset + scale.bytes_of(number);
  problem.found = value_text(value) + " at element " + element_text(scale.weight.shape, number);
  problem.want = "finite numbers other than 0";
  problem.hint = "to leave the weight as it is, say format = \"keep\"";
  throw Error(std::move(problem));
}

}  // namespace

std::span<const float> ScaleReader::read(const Checkpoint& checkpoint, const FoldedScale& scale,
                                         std::uint64_t first, std::uint64_t count) {
  const SourceTensor& tensor = *scale.tensor;
  const std::span<std::byte> bytes = bytes_.take(tensor.bytes_of(count));
  tensors_.read(checkpoint, tensor, 0, tensor.bytes_of(first), bytes);
  const std::span<float> numbers = numbers_.take(count);
  const std::span<const std::byte> in[] = {bytes};
  scale.codec->decode({&tensor.weight, first, 1, count}, in, numbers);
  for (std::uint64_t i = 0; i < count; ++i)
    if (const float value = numbers[i]; !std::isfinite(value) || value == 0)
      refuse(checkpoint, tensor, first + i, value);
  return numbers;
}

void ScaleReader::fold(const Checkpoint& checkpoint, const Weight& weight, const FoldedScale& scale,
                       const Piece& piece, std::span<float> values, ValueReport& report) {
  if (values.empty()) return;
  const ScaleGrid grid(weight.shape, scale.form);
  const std::uint64_t columns = grid.columns();
  const std::uint64_t last = piece.first_element + values.size() - 1;
  const std::uint64_t first_row = piece.first_element / columns;
  const std::uint64_t last_row = last / columns;
  // Of several rows all columns: their numbers follow each other.
  const bool one_row = first_row == last_row;
  const std::uint64_t begin = grid.number(first_row, one_row ? piece.first_element % columns : 0);
  const std::uint64_t end = grid.number(last_row, one_row ? last % columns : columns - 1) + 1;
  const std::span<const float> numbers = read(checkpoint, scale, begin, end - begin);
  for (std::uint64_t at = piece.first_element; at <= last;) {
    const std::uint64_t row = at / columns;
    const std::uint64_t column = at % columns;
    std::uint64_t run = last + 1 - at;
    if (scale.form != ScaleForm::tensor) run = std::min(run, columns - column);
    if (scale.form == ScaleForm::block) run = std::min(run, kScaleBlock - column % kScaleBlock);
    const auto offset = static_cast<std::size_t>(at - piece.first_element);
    scale_run(values.subspan(offset, static_cast<std::size_t>(run)),
              numbers[static_cast<std::size_t>(grid.number(row, column) - begin)], at, report);
    at += run;
  }
}

void ScaleReader::reserve(std::uint64_t numbers) {
  bytes_.take(saturating_mul(numbers, sizeof(float)));
  numbers_.take(numbers);
}

std::uint64_t scale_numbers(const Shape& weight, ScaleForm form, std::uint64_t elements) {
  if (form == ScaleForm::tensor || elements == 0 || weight.rank() < 2) return 1;
  const std::uint64_t columns = std::max<std::uint64_t>(weight.columns(), 1);
  const std::uint64_t rows = std::max<std::uint64_t>(elements / columns, 1);
  if (form == ScaleForm::row) return rows;
  const std::uint64_t across = columns / kScaleBlock + 1;
  // Rows may begin in the middle of a block, and go over the end of every matrix.
  const std::uint64_t matrix = weight.extents()[weight.rank() - 2];
  const std::uint64_t down = rows / std::min<std::uint64_t>(kScaleBlock, matrix) + 2;
  return saturating_mul(saturating_add(down, rows / matrix), across);
}

}  // namespace synps
