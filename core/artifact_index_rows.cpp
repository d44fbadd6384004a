#include "artifact_index_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace synps {

std::optional<IndexFault> fault_of(const StoredComponent& stored) {
  const std::uint64_t bytes = stored.component.bytes;
  if (stored.component.shape.bytes(stored.component.dtype) != bytes)
    return IndexFault{"bytes", "shape × dtype", fmt::format("{}", bytes)};
  if (stored.compressed() && bytes == 0)
    return IndexFault{"compression", "none, as there is nothing to compress"};
  if (stored.compressed() && stored.stored_bytes == 0)
    return IndexFault{"stored_bytes", "more than 0", "0"};
  if (!stored.compressed() && stored.stored_bytes < bytes)
    return IndexFault{"stored_bytes", "at least bytes", fmt::format("{}", stored.stored_bytes)};
  if (stored.chunk_bytes == 0 && bytes != 0) return IndexFault{"chunk_bytes", "more than 0", "0"};
  return std::nullopt;
}

namespace {

/// Frames must be inflated to be used, which nothing mapped is.
std::optional<IndexFault> fault_of_compressed(const StoredWeight& weight) {
  const bool compressed =
      std::any_of(weight.components.begin(), weight.components.end(),
                  [](const StoredComponent& stored) { return stored.compressed(); });
  if (!compressed) return std::nullopt;
  if (weight.form.residency != Residency::heap)
    return IndexFault{"form", "residency heap, as a component is compressed",
                      std::string(to_string(weight.form.residency))};
  if (weight.scheme && weight.scheme->is_volatile)
    return IndexFault{"scheme", "one that is not volatile, as a component is compressed"};
  return std::nullopt;
}

/// Whether the weight can be in that order is known to its codec alone: component_fault().
std::optional<IndexFault> fault_of_orders(const StoredWeight& weight) {
  for (std::size_t i = 0; i < weight.components.size(); ++i)
    if (const Order order = weight.components[i].order; order != weight.form.order)
      return IndexFault{fmt::format("components[{}].order", i),
                        fmt::format("{}, the order of the form", to_string(weight.form.order)),
                        std::string(to_string(order))};
  return std::nullopt;
}

/// What rounded is a codec, and what has been rounded is not lossless.
std::optional<IndexFault> fault_of_history(const StoredWeight& weight) {
  for (std::size_t i = 0; i < weight.history.size(); ++i)
    if (weight.history[i].is_keep())
      return IndexFault{fmt::format("history[{}]", i), "a codec, which keep is not",
                        weight.history[i].id()};
  if (!weight.history.empty() && weight.lossless)
    return IndexFault{"lossless", "false, as the history has encodings that rounded", "true"};
  return std::nullopt;
}

/// What is kept is stored as its source: values of its dtype, or GGUF's blocks and key-values as
/// bytes. Any other name would have them decoded as what they are not.
std::optional<IndexFault> fault_of_kept(const StoredWeight& weight) {
  const std::string_view dtype = encoding_name(weight.weight.dtype);
  if (!weight.codec.is_keep() || weight.source == dtype || weight.source.starts_with("gguf:"))
    return std::nullopt;
  return IndexFault{"source", fmt::format("{}, as its bytes are kept", dtype), weight.source};
}

}  // namespace

std::optional<IndexFault> fault_of(const StoredWeight& weight) {
  if (auto fault = fault_of_kept(weight)) return fault;
  if (auto fault = fault_of_history(weight)) return fault;
  if (auto fault = fault_of_compressed(weight)) return fault;
  return fault_of_orders(weight);
}

std::optional<std::uint64_t> hex_from(std::string_view text) noexcept {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

}  // namespace synps
