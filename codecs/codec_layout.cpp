#include "codec_layout.h"

#include <fmt/format.h>

#include <utility>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

[[noreturn]] void throw_too_large(const Weight& weight, const std::string& component) {
  Problem problem;
  problem.code = ErrorCode::limit;
  problem.what = fmt::format("the size of component {} does not fit 64 bits", component);
  problem.field = weight.path;
  problem.found = "shape " + weight.shape.to_string();
  throw Error(std::move(problem));
}

Component sized(const Weight& weight, std::string name, DType dtype, std::optional<Shape> shape) {
  if (!shape) throw_too_large(weight, name);
  const auto bytes = shape->bytes(dtype);
  if (!bytes) throw_too_large(weight, name);
  Component component;
  component.name = std::move(name);
  component.dtype = dtype;
  component.shape = *std::move(shape);
  component.bytes = *bytes;
  return component;
}

}  // namespace

Component dense_component(const Weight& weight, DType dtype) {
  return sized(weight, "values", dtype, weight.shape);
}

Component row_component(const Weight& weight, std::string name, DType dtype,
                        std::optional<std::uint64_t> row_elements) {
  if (weight.shape.elements() == 0) return sized(weight, std::move(name), dtype, Shape{0});
  if (!row_elements) throw_too_large(weight, name);
  std::vector<std::uint64_t> extents = weight.shape.extents();
  extents.back() = *row_elements;
  return sized(weight, std::move(name), dtype, Shape::make(std::move(extents)));
}

Support supports_blocks(const Weight& weight, std::uint64_t block_elements,
                        const std::string& codec) {
  if (weight.shape.elements() == 0) return Support::yes();
  if (weight.shape.rank() == 0)
    return Support::no(fmt::format("a scalar has no row of {} elements that {} could pack",
                                   block_elements, codec));
  const std::uint64_t columns = weight.shape.columns();
  if (columns % block_elements == 0) return Support::yes();
  return Support::no(fmt::format("row length {} is not a multiple of {}, the block of {}", columns,
                                 block_elements, codec));
}

Support supports_rows(const Weight& weight, const std::string& codec) {
  if (weight.shape.elements() == 0 || weight.shape.rank() > 0) return Support::yes();
  return Support::no(fmt::format("a scalar has no row that {} could pack", codec));
}

Support supports_whole_rows(const Weight& weight, const std::string& codec) {
  if (weight.shape.columns() <= kLongestWholeRow) return supports_rows(weight, codec);
  return Support::no(
      fmt::format("row length {} is more than {}, and {} needs a whole row in memory",
                  weight.shape.columns(), kLongestWholeRow, codec));
}

void throw_read_only(const CodecInfo& info, std::string hint) {
  Problem problem;
  problem.code = ErrorCode::usage;
  problem.what = fmt::format("{} is only read, never written", info.id());
  problem.hint = std::move(hint);
  throw Error(std::move(problem));
}

std::vector<DType> dtypes_exact_in_f32() {
  return {DType::f4,      DType::f6_e2m3, DType::f6_e3m2,     DType::f8_e5m2,
          DType::f8_e4m3, DType::f8_e8m0, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz,
          DType::f16,     DType::bf16,    DType::f32};
}

}  // namespace synps
