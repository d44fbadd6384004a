#include "storage_state.h"

#include <utility>

#include "synps/artifact_layout.h"
#include "synps/load_memory.h"

namespace synps {
namespace {

/// Asks one codec.
class RowBytesOf final : public RowBytes {
 public:
  explicit RowBytesOf(const Codec* codec) : codec_(codec) {}
  std::uint64_t of(const StoredWeight& weight, std::size_t component,
                   std::uint64_t columns) const override {
    const Shape& shape = weight.weight.shape;
    return codec_->row_bytes(component,
                             shape.rank() < 2 ? vector_row(*codec_, shape.elements()) : columns);
  }

 private:
  const Codec* codec_;  // null: kept, and never asked
};

std::vector<Component> components_of(const StorageState& state) {
  const Weight& weight = state.stored.weight;
  if (state.codec != nullptr) return state.codec->components(weight);
  const auto bytes = weight.shape.bytes(weight.dtype);
  if (!bytes) throw memory_too_large(state.stored);
  return {{"values", weight.dtype, weight.shape, *bytes, false}};
}

}  // namespace

void set_components(StorageState& state) {
  StoredWeight& stored = state.stored;
  stored.codec = state.codec != nullptr ? CodecRef::of(state.codec->info()) : CodecRef::keep();
  stored.components.clear();
  for (Component& component : components_of(state)) {
    StoredComponent& each = stored.components.emplace_back();
    each.component = std::move(component);
    each.order = state.order();
    each.compression = state.compression().method;
  }
  set_sizes(stored, RowBytesOf(state.codec));
  for (StoredComponent& each : stored.components)
    if (!each.compressed()) each.stored_bytes = each.component.bytes;
}

bool is_lossless(const Codec& codec, DType dtype) noexcept {
  return codec.info().dense_dtype == dtype || codec.info().stores_exactly(dtype);
}

SharedStorage share(StorageState state) {
  return std::make_shared<const WeightStorage>(
      std::make_unique<const StorageState>(std::move(state)));
}

}  // namespace synps
