#include <fmt/format.h>

#include "loaded_artifact.h"
#include "storage_state.h"
#include "synps/artifact.h"
#include "synps/builtin_codecs.h"
#include "synps/checked.h"
#include "synps/history.h"
#include "usage_error.h"

namespace synps {

const std::string& WeightView::path() const noexcept {
  return stored_->weight.path;
}
const Shape& WeightView::shape() const noexcept {
  return stored_->weight.shape;
}
DType WeightView::dtype() const noexcept {
  return stored_->weight.dtype;
}
const WeightForm& WeightView::form() const noexcept {
  return decision().form;
}
const FormDecision& WeightView::decision() const noexcept {
  return impl_->planned(number_).decision;
}
const WeightMemory& WeightView::memory() const noexcept {
  return impl_->planned(number_).memory;
}
std::size_t WeightView::component_count() const noexcept {
  return impl_->component_count(number_);
}

std::span<const std::byte> WeightView::component(std::size_t i) const {
  if (i >= component_count())
    throw usage_error(impl_->path(), path(), "no such component", fmt::format("number {}", i),
                      fmt::format("less than {}", component_count()));
  return impl_->component(number_, i);
}

std::span<const std::byte> WeightView::component(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < component_count(); ++i) {
    const std::string& own = impl_->component_name(number_, i);
    if (own == name) return impl_->component(number_, i);
    names.push_back(escape_for_display(own));
  }
  throw usage_error(impl_->path(), path(), "no such component", quote(name),
                    fmt::format("{}", fmt::join(names, " or ")));
}

void WeightView::decode(RowRange rows, std::span<float> out) const {
  const std::string& file = impl_->path();
  if (codec_ == nullptr)
    throw usage_error(file, path(), "nothing decodes this weight",
                      fmt::format("{} kept as stored", dtype_name(dtype())), "",
                      "read its bytes with component()");
  if (!range_fits(rows.first, rows.count, shape().rows()))
    throw usage_error(file, path(), "rows out of range",
                      fmt::format("{} rows from row {}", rows.count, rows.first),
                      fmt::format("rows below {}", shape().rows()));
  // Cannot wrap: not more than the weight's elements.
  const std::uint64_t values = rows.count * shape().columns();
  if (out.size() != values)
    throw usage_error(file, path(), "output of the wrong size",
                      fmt::format("{} values", out.size()), fmt::format("{}", values));
  if (!out.empty()) impl_->decode(number_, rows, out);
}

std::vector<float> WeightView::decode() const {
  // An undecodable weight is refused before memory is taken for it.
  std::vector<float> values(codec_ != nullptr ? shape().elements() : 0);
  decode({0, shape().rows()}, values);
  return values;
}

/// Of a companion scale, which has none itself.
SharedStorage WeightView::numbers_storage(const StoredWeight& scale) const {
  if (scale.scale) return nullptr;
  WeightView view;
  view.impl_ = impl_;
  view.stored_ = &scale;
  view.number_ = static_cast<std::size_t>(&scale - &impl_->stored(0));
  view.codec_ = impl_->codec(view.number_);
  return view.storage();
}

SharedStorage WeightView::storage() const {
  StorageState state;
  state.stored.weight = stored_->weight;
  state.stored.source = stored_->source;
  state.stored.form = form();
  state.stored.scale = stored_->scale;
  state.stored.device = stored_->device;
  state.stored.codec = stored_->codec;
  state.stored.lossless = stored_->lossless;
  state.stored.history = stored_->history;
  state.codec = codec_;
  if (decision().dequantizes) {
    state.stored.history = rounded_so_far(builtin_registry(), *stored_, codec_);
    state.codec = builtin_registry().for_dtype(DType::f32);
  }
  set_components(state);
  state.bytes = std::make_shared<const LoadedBytes>(impl_, number_);
  if (const auto& scale = stored_->scale; scale && !scale->folded)
    if (const StoredWeight* found = impl_->files().find(scale->path); found != nullptr)
      state.scale = numbers_storage(*found);
  return share(std::move(state));
}

}  // namespace synps
