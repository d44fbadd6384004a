#include "scale_reader.h"

#include <algorithm>
#include <utility>

#include "synps/checked.h"
#include "synps/error.h"
#include "synps/scale_product.h"
#include "value_problems.h"

namespace synps {
namespace {

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
  if (const auto bad = unusable_number(numbers))
    refuse(checkpoint, tensor, first + *bad, numbers[*bad]);
  return numbers;
}

void ScaleReader::fold(const Checkpoint& checkpoint, const Weight& weight, const FoldedScale& scale,
                       const Piece& piece, std::span<float> values, ValueReport& report) {
  if (values.empty()) return;
  const ScaleRange range = scale_range(weight.shape, scale.form, piece);
  multiply_by_scale(weight.shape, scale.form, piece,
                    read(checkpoint, scale, range.first, range.count), values, report);
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
