#include "value_problems.h"

#include <cmath>

#include <fmt/format.h>

#include "source_reader.h"
#include "synps/codec_registry.h"

namespace synps {
namespace {

std::string finding_text(const Shape& shape, const ValueReport::Finding& finding) {
  std::string text = fmt::format("{} at element {}", value_text(finding.first_value),
                                 element_text(shape, finding.first_index));
  if (finding.count > 1) text += fmt::format(", the first of {}", finding.count);
  return text;
}

}  // namespace

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-infinity" : "infinity";
  // The shortest text of the f32, where it is one.
  const float narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? fmt::format("{}", narrow)
                                              : fmt::format("{}", value);
}

std::string element_text(const Shape& shape, std::uint64_t index) {
  std::string text = fmt::format("{}", index);
  if (shape.rank() < 2) return text;
  std::string inner;
  std::uint64_t rest = index;
  for (std::size_t d = shape.rank(); d-- > 0;) {
    const std::uint64_t extent = shape.extents()[d];
    inner = fmt::format("{}{}{}", rest % extent, inner.empty() ? "" : ", ", inner);
    rest /= extent;
  }
  return fmt::format("{} [{}]", text, inner);
}

std::optional<Problem> value_problem(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                     const Codec& codec, const ValueReport& values,
                                     bool allow_overflow) {
  const bool non_finite = values.non_finite.count != 0;
  const bool overflow = values.overflow.count != 0 && !allow_overflow;
  if (!non_finite && !overflow) return std::nullopt;

  const Shape& shape = tensor.weight.shape;
  const std::string name = CodecRegistry::short_name(codec.info());
  const ValueReport::Finding& first = non_finite ? values.non_finite : values.overflow;
  Problem problem{.code = ErrorCode::checkpoint,
                  .file = checkpoint.file_of(tensor).path(),
                  .field = tensor.weight.path,
                  .found = finding_text(shape, first)};
  if (tensor.stored == nullptr)  // what is in frames, or in another order, lies at no one place
    problem.offset = tensor.offset + tensor.bytes_of(first.first_index / tensor.block_elements *
                                                     tensor.block_elements);
  if (non_finite) {
    problem.what = fmt::format("{} cannot store NaN and infinities", name);
    problem.want = "finite values";
    problem.hint = "f32, f16 and bf16 store them";
    if (overflow)
      problem.found +=
          fmt::format("; and values that overflow: {}", finding_text(shape, values.overflow));
  } else {
    problem.what = fmt::format("values overflow {}", name);
    problem.want = "values that stay finite";
    problem.hint = codec.info().stores_exactly(DType::f32)
                       ? "keep the source encoding with format = \"keep\", or pass --allow-overflow"
                       : "use a codec with a wider range, such as f32, or pass --allow-overflow";
  }
  return problem;
}

}  // namespace synps
