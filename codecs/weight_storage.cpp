#include "synps/weight_storage.h"

#include <fmt/format.h>

#include <utility>

#include "storage_rows.h"
#include "storage_state.h"
#include "storage_steps.h"
#include "synps/checked.h"
#include "synps/conversion.h"
#include "synps/row_order.h"
#include "usage_error.h"

namespace synps {
namespace {

void check_order(const StorageState& state) {
  if (state.order() == Order::rows1) return;
  if (state.codec == nullptr || !can_be_rows8(*state.codec, state.stored.weight))
    throw usage_error("", state.stored.weight.path, "a weight cannot have this order",
                      std::string(to_string(state.order())), "rows1");
}

void check_components(const StorageState& state,
                      const std::vector<std::span<const std::byte>>& found) {
  const std::string& path = state.stored.weight.path;
  const auto& wanted = state.stored.components;
  if (found.size() != wanted.size())
    throw usage_error("", path, "not the components that the codec stores",
                      fmt::format("{}", found.size()), fmt::format("{}", wanted.size()));
  for (std::size_t c = 0; c < wanted.size(); ++c)
    if (const Component& component = wanted[c].component; found[c].size() != component.bytes)
      throw usage_error("", path, "a component of the wrong size",
                        fmt::format("{} bytes of {}", found[c].size(), component.name),
                        fmt::format("{} bytes", component.bytes));
}

Error no_bytes(const StorageState& state, std::string found, std::string want) {
  return usage_error("", state.stored.weight.path, "no bytes of a component to be seen",
                     std::move(found), std::move(want));
}

void check_host(const StorageState& state) {
  if (!state.on_host())
    throw no_bytes(state, fmt::format("device {}", quote(state.stored.device)), "device 'local'");
}

}  // namespace

SharedStorage WeightStorage::of(StorageParts parts) {
  StorageState state;
  state.stored.weight = std::move(parts.weight);
  state.stored.source = encoding_name(state.stored.weight.dtype);
  state.stored.form.order = parts.order;
  state.stored.form.orientation = parts.orientation;
  state.stored.form.residency = parts.residency;
  state.stored.device = std::move(parts.device);
  state.stored.history = std::move(parts.history);
  state.codec = parts.codec;
  if (state.codec != nullptr)
    if (const Support support = state.codec->supports(state.stored.weight); !support.ok) {
      Problem problem = cannot_store(state.codec->info(), support);
      problem.code = ErrorCode::usage;
      problem.what += fmt::format(": {}", quote(state.stored.weight.path));
      throw Error(std::move(problem));
    }
  check_order(state);
  state.stored.lossless =
      state.codec == nullptr || is_lossless(*state.codec, state.stored.weight.dtype);
  set_components(state);
  check_components(state, parts.components);
  state.bytes =
      std::make_shared<const BorrowedBytes>(std::move(parts.components), std::move(parts.owner));
  return share(std::move(state));
}

WeightStorage::WeightStorage(std::unique_ptr<const StorageState> state) noexcept
    : state_(std::move(state)) {}
WeightStorage::~WeightStorage() = default;

const Weight& WeightStorage::weight() const noexcept {
  return state_->stored.weight;
}
const Codec* WeightStorage::codec() const noexcept {
  return state_->codec;
}
Order WeightStorage::order() const noexcept {
  return state_->order();
}
Orientation WeightStorage::orientation() const noexcept {
  return state_->stored.form.orientation;
}
CompressRequest WeightStorage::compression() const noexcept {
  return state_->compression();
}
Residency WeightStorage::residency() const noexcept {
  return state_->stored.form.residency;
}
const std::string& WeightStorage::device() const noexcept {
  return state_->stored.device;
}
const std::vector<CodecRef>& WeightStorage::history() const noexcept {
  return state_->stored.history;
}
const std::optional<StoredScale>& WeightStorage::scale() const noexcept {
  return state_->stored.scale;
}

std::uint64_t WeightStorage::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const StoredComponent& component : state_->stored.components)
    bytes += component.stored_bytes;
  return bytes;
}

std::size_t WeightStorage::component_count() const noexcept {
  return state_->stored.components.size();
}

const Component& WeightStorage::component_info(std::size_t i) const {
  if (i >= component_count())
    throw no_bytes(*state_, fmt::format("number {}", i),
                   fmt::format("less than {}", component_count()));
  return state_->stored.components[i].component;
}

std::span<const std::byte> WeightStorage::component(std::size_t i) const {
  component_info(i);
  check_host(*state_);
  if (state_->compressed())
    throw no_bytes(*state_, std::string(to_string(state_->compression().method)),
                   "a storage that is not compressed");
  return state_->bytes->component(i);
}

void WeightStorage::decode(RowRange rows, std::span<float> out) const {
  const Weight& weight = state_->stored.weight;
  if (state_->codec == nullptr)
    throw usage_error("", weight.path, "nothing decodes this weight",
                      fmt::format("{} kept as stored", dtype_name(weight.dtype)), "",
                      "read its bytes with component()");
  check_host(*state_);
  if (!range_fits(rows.first, rows.count, weight.shape.rows()))
    throw usage_error("", weight.path, "rows out of range",
                      fmt::format("{} rows from row {}", rows.count, rows.first),
                      fmt::format("rows below {}", weight.shape.rows()));
  // Cannot wrap: not more than the weight's elements.
  const std::uint64_t columns = weight.shape.columns();
  if (out.size() != rows.count * columns)
    throw usage_error("", weight.path, "output of the wrong size",
                      fmt::format("{} values", out.size()),
                      fmt::format("{}", rows.count * columns));
  if (out.empty()) return;
  StorageRows reader(*state_);
  ValueReport narrowed;
  for_each_step(weight.shape, 0, 1, rows.first, rows.first + rows.count,
                [&](const RowPart& step, std::uint64_t) {
                  reader.values(step, out.first(step.rows * columns), narrowed);
                  out = out.subspan(step.rows * columns);
                });
}

std::vector<float> WeightStorage::decode() const {
  const Shape& shape = state_->stored.weight.shape;
  // An undecodable weight is refused before memory is taken for it.
  std::vector<float> values(codec() != nullptr ? shape.elements() : 0);
  decode({0, shape.rows()}, values);
  return values;
}

}  // namespace synps
