#include "synps/value_problems.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

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

double load_f64(const std::byte* bytes) noexcept {
  std::uint64_t bits = 0;
  for (int i = 7; i >= 0; --i) bits = bits << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return std::bit_cast<double>(bits);
}

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

std::optional<Problem> value_problem(const Weight& weight, const Codec& codec,
                                     const ValueReport& values, bool allow_overflow) {
  const bool non_finite = values.non_finite.count != 0;
  const bool overflow = values.overflow.count != 0 && !allow_overflow;
  if (!non_finite && !overflow) return std::nullopt;

  const std::string name = CodecRegistry::short_name(codec.info());
  Problem problem{.code = ErrorCode::checkpoint, .field = weight.path};
  problem.found = finding_text(weight.shape, non_finite ? values.non_finite : values.overflow);
  if (non_finite) {
    problem.what = fmt::format("{} cannot store NaN and infinities", name);
    problem.want = "finite values";
    problem.hint = "f32, f16 and bf16 store them";
    if (overflow)
      problem.found += fmt::format("; and values that overflow: {}",
                                   finding_text(weight.shape, values.overflow));
  } else {
    problem.what = fmt::format("values overflow {}", name);
    problem.want = "values that stay finite";
  }
  return problem;
}

void report_narrowing(std::span<const std::byte> bytes, std::span<const float> values,
                      std::uint64_t first_element, ValueReport& report) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isinf(values[i]) && values[i] != 0) continue;
    const double source = load_f64(bytes.data() + i * 8);
    if (std::isinf(values[i]) && std::isfinite(source))
      report.overflow.add(first_element + i, source);
    else if (values[i] == 0 && source != 0)
      report.underflow.add(first_element + i, source);
  }
}

}  // namespace synps
