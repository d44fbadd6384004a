#include "value_problems.h"

namespace synps {

std::optional<Problem> value_problem(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                     const Codec& codec, const ValueReport& values,
                                     bool allow_overflow) {
  auto problem = value_problem(tensor.weight, codec, values, allow_overflow);
  if (!problem) return std::nullopt;
  const bool overflow = values.non_finite.count == 0;
  const std::uint64_t first =
      overflow ? values.overflow.first_index : values.non_finite.first_index;
  problem->file = checkpoint.file_of(tensor).path();
  if (tensor.stored == nullptr)  // what is in frames, or in another order, lies at no one place
    problem->offset =
        tensor.offset + tensor.bytes_of(first / tensor.block_elements * tensor.block_elements);
  if (overflow)
    problem->hint =
        codec.info().stores_exactly(DType::f32)
            ? "keep the source encoding with format = \"keep\", or pass --allow-overflow"
            : "use a codec with a wider range, such as f32, or pass --allow-overflow";
  return problem;
}

}  // namespace synps
