#include "synps/conversions.h"

#include "synps/checked.h"
#include "synps/stored_codec.h"
#include "synps/trace.h"

namespace synps {
namespace {

/// True bytes of all components.
std::uint64_t true_bytes(const StoredWeight& stored) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredComponent& each : stored.components) bytes += each.component.bytes;
  return bytes;
}

std::uint64_t stored_bytes(const StoredWeight& stored) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredComponent& each : stored.components) bytes += each.stored_bytes;
  return bytes;
}

/// The weight's values, as they are after its scale has been folded in.
constexpr const char* kFolded = "f32";

/// What brings the bytes of an artifact's weight into the order in which they are encoded, or
/// copied.
void undo_form(const StoredWeight& source, bool to_rows1,
               std::vector<PlannedConversion>& conversions) {
  const std::string codec = stored_in(source);
  const std::uint64_t bytes = true_bytes(source);
  const Order order = source.form.order;
  const std::string plain = stored_form_text(codec, order, Compression::none);
  if (is_compressed(source))
    conversions.push_back({"inflate", stored_form_text(codec, order, compression_of(source)), plain,
                           stored_bytes(source), bytes});
  if (order != Order::rows1 && to_rows1)
    conversions.push_back({"relayout", plain,
                           stored_form_text(codec, Order::rows1, Compression::none), bytes, bytes,
                           true});
}

}  // namespace

bool is_compressed(const StoredWeight& stored) noexcept {
  return compression_of(stored) != Compression::none;
}

std::vector<PlannedConversion> planned_conversions(const Checkpoint& checkpoint,
                                                   const PlannedWeight& planned,
                                                   const StoredWeight& written) {
  std::vector<PlannedConversion> conversions;
  const std::string codec = stored_in(written);
  const Order order = written.form.order;
  const std::uint64_t bytes = true_bytes(written);
  std::uint64_t before = checkpoint.tensors()[planned.tensor].bytes;
  std::string from = written.source;
  bool is_rows1 = true;
  if (const StoredWeight* source = planned.source) {
    undo_form(*source, !planned.copied || order == Order::rows1, conversions);
    from = stored_form_text(stored_in(*source), Order::rows1, Compression::none);
    is_rows1 = !planned.copied || source->form.order == Order::rows1;
  }
  if (planned.scale) {
    const std::uint64_t values = saturating_mul(written.weight.shape.elements(), sizeof(float));
    conversions.push_back({"fold_scale", from, kFolded, planned.source_bytes, values});
    from = kFolded;
    before = values;
  }
  const std::string rows1 = stored_form_text(codec, Order::rows1, Compression::none);
  if (!planned.copied) conversions.push_back({"encode", from, rows1, before, bytes});
  const std::string laid = stored_form_text(codec, order, Compression::none);
  if (order != Order::rows1 && is_rows1)
    conversions.push_back({"relayout", rows1, laid, bytes, bytes});
  if (is_compressed(written))
    conversions.push_back({"compress", laid,
                           stored_form_text(codec, order, compression_of(written)), bytes,
                           stored_bytes(written)});
  return conversions;
}

}  // namespace synps
