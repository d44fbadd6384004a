#include "gguf_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

constexpr std::uint64_t kMaxExtent = std::numeric_limits<std::int64_t>::max();

std::string ne_text(const Shape& shape) {
  std::vector<std::uint64_t> ne(shape.extents().rbegin(), shape.extents().rend());
  return Shape(std::move(ne)).to_string();
}

}  // namespace

void GgufTensorTable::fail_at(std::size_t tensor, GgufInput::Fault fault) {
  input_.set_place("tensor", &tensors_[tensor].name);
  input_.fail(std::move(fault));
}

void GgufTensorTable::read_next() {
  input_.set_place("tensor descriptions", nullptr);
  described_.push_back(input_.offset());
  GgufTensor tensor;
  tensor.name = input_.text("a tensor's name", kMaxGgufNameBytes);
  input_.set_place("tensor", &tensor.name);
  if (!is_utf8(tensor.name))
    input_.fail({.what = "a name that is not UTF-8", .offset = described_.back()});
  read_shape(tensor);
  read_type(tensor);
  const std::uint64_t at = input_.offset();
  tensor.offset = input_.u64("an offset");
  if (tensor.offset % alignment_ != 0)
    input_.fail({.what = "an offset that is not aligned",
                 .offset = at,
                 .found = fmt::format("{}", tensor.offset),
                 .want = fmt::format("a multiple of {}", alignment_)});
  tensors_.push_back(std::move(tensor));
}

void GgufTensorTable::read_shape(GgufTensor& tensor) {
  const std::uint64_t at = input_.offset();
  const std::uint32_t dimensions = input_.u32("the number of dimensions");
  if (dimensions > kMaxGgufDimensions)
    input_.fail({.what = "too many dimensions",
                 .offset = at,
                 .found = fmt::format("{}", dimensions),
                 .want = fmt::format("at most {}", kMaxGgufDimensions)});
  std::vector<std::uint64_t> extents;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const std::uint64_t where = input_.offset();
    const std::uint64_t extent = input_.u64("a dimension");
    if (extent == 0 || extent > kMaxExtent)
      input_.fail({.what = extent == 0 ? "a dimension of 0" : "a negative dimension",
                   .offset = where,
                   .found = fmt::format("{}", static_cast<std::int64_t>(extent)),
                   .want = "at least 1"});
    extents.push_back(extent);
  }
  std::reverse(extents.begin(), extents.end());
  auto shape = Shape::make(std::move(extents));
  if (!shape) input_.fail({.what = "the shape's element count does not fit 64 bits", .offset = at});
  tensor.shape = std::move(*shape);
}

void GgufTensorTable::read_type(GgufTensor& tensor) {
  const std::uint64_t at = input_.offset();
  tensor.type = input_.u32("a tensor's type");
  const GgufType* type = find_gguf_type(tensor.type);
  if (type == nullptr)
    input_.fail({.what = "an unknown tensor type",
                 .offset = at,
                 .found = fmt::format("type {}", tensor.type),
                 .want = fmt::format("0 to {}", all_gguf_types().back().number)});
  if (type->removed)
    input_.fail({.what = "a tensor type that GGUF no longer has",
                 .offset = at,
                 .found = fmt::format("{} (type {})", type->name, tensor.type),
                 .hint = "convert the model again"});
  if (tensor.shape.columns() % type->block_elements != 0)
    input_.fail({.what = fmt::format("rows that are no whole number of {} blocks", type->name),
                 .offset = at,
                 .found = fmt::format("ne {}: {} elements a row", ne_text(tensor.shape),
                                      tensor.shape.columns()),
                 .want = fmt::format("a multiple of {}", type->block_elements)});
  const auto bytes = type->bytes(tensor.shape.elements());
  if (!bytes) input_.fail({.what = "the tensor's size does not fit 64 bits", .offset = at});
  tensor.bytes = *bytes;
}

/// By sorting and not by hashing: no choice of names makes it slow.
void GgufTensorTable::check_names() {
  std::vector<std::size_t> order(tensors_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int names = tensors_[a].name.compare(tensors_[b].name);
    return names != 0 ? names < 0 : a < b;
  });
  const auto twice = std::adjacent_find(
      order.begin(), order.end(),
      [&](std::size_t a, std::size_t b) { return tensors_[a].name == tensors_[b].name; });
  if (twice != order.end())
    fail_at(*twice, {.what = "a tensor stands twice", .offset = described_[*(twice + 1)]});
}

/// The tensors must follow each other in the data section, each at the next multiple of the
/// alignment, and end with the file.
void GgufTensorTable::check_places() {
  const std::uint64_t size = input_.file().size();
  const auto start = checked_round_up(input_.offset(), alignment_);
  std::vector<std::size_t> order(tensors_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors_[a].offset != tensors_[b].offset ? tensors_[a].offset < tensors_[b].offset
                                                    : a < b;
  });
  std::uint64_t end = 0;   // of the tensor before, in the data section
  std::uint64_t next = 0;  // where the next one must start
  for (const std::size_t i : order) {
    GgufTensor& tensor = tensors_[i];
    if (tensor.offset != next)
      fail_at(i, {.what = tensor.offset < next ? "the tensor overlaps the one before it"
                                               : "a hole before the tensor",
                  .offset = described_[i],
                  .found = fmt::format("data offset {}", tensor.offset),
                  .want = fmt::format("{}", next)});
    const auto ends = checked_add(tensor.offset, tensor.bytes);
    const auto padded = ends ? checked_round_up(*ends, alignment_) : std::nullopt;
    if (!padded || *start > size || !range_fits(tensor.offset, tensor.bytes, size - *start))
      fail_at(i, {.what = "the tensor ends past the end of the file",
                  .offset = described_[i],
                  .found = fmt::format("{} bytes at {}", tensor.bytes, *start + tensor.offset),
                  .want = fmt::format("a file of more than {} bytes", size),
                  .hint = "the file may be cut short"});
    end = *ends;
    next = *padded;
    tensor.offset += *start;
  }
  // Some writers pad behind the last tensor, or without one behind the header; others do not.
  const std::uint64_t least = tensors_.empty() ? input_.offset() : *start + end;
  const std::uint64_t most = *start + next;
  if (size >= least && size <= std::max(least, most)) return;
  input_.set_place(nullptr, nullptr);
  input_.fail({.what = "bytes behind the last tensor",
               .offset = most,
               .found = fmt::format("{} bytes", size),
               .want = fmt::format("a file of {} bytes", most)});
}

std::vector<GgufTensor> GgufTensorTable::finish() {
  check_names();
  check_places();
  return std::move(tensors_);
}

}  // namespace synps
