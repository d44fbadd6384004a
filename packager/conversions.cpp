#include "synps/conversions.h"

#include "synps/checked.h"
#include "synps/trace.h"

namespace synps {
namespace {

/// True bytes of all components.
std::uint64_t true_bytes(const StoredWeight& stored) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredComponent& each : stored.components) bytes += each.component.bytes;
  return bytes;
}

bool is_compressed(const StoredWeight& stored) noexcept {
  for (const StoredComponent& each : stored.components)
    if (each.compressed()) return true;
  return false;
}

/// The weight's values, as they are after its scale has been folded in.
constexpr const char* kFolded = "f32";

}  // namespace

std::vector<PlannedConversion> planned_conversions(const Checkpoint& checkpoint,
                                                   const PlannedWeight& planned,
                                                   const StoredWeight& written) {
  std::vector<PlannedConversion> conversions;
  // What nothing decodes is called by its source's encoding.
  const std::string codec = written.codec.is_keep() ? written.source : written.codec.id();
  const std::uint64_t bytes = true_bytes(written);
  std::uint64_t before = checkpoint.tensors()[planned.tensor].bytes;
  std::string from = written.source;
  if (planned.scale) {
    const std::uint64_t values = saturating_mul(written.weight.shape.elements(), sizeof(float));
    conversions.push_back({"fold_scale", from, kFolded, planned.source_bytes, values});
    from = kFolded;
    before = values;
  }
  const std::string rows1 = stored_form_text(codec, Order::rows1, Compression::none);
  if (!planned.copied) conversions.push_back({"encode", from, rows1, before, bytes});
  const Order order = written.form.order;
  const std::string laid = stored_form_text(codec, order, Compression::none);
  if (order != Order::rows1) conversions.push_back({"relayout", rows1, laid, bytes, bytes});
  if (is_compressed(written)) {
    std::uint64_t stored = 0;
    Compression method = Compression::none;
    for (const StoredComponent& each : written.components) {
      stored += each.stored_bytes;
      if (each.compressed()) method = each.compression;
    }
    conversions.push_back(
        {"compress", laid, stored_form_text(codec, order, method), bytes, stored});
  }
  return conversions;
}

}  // namespace synps
