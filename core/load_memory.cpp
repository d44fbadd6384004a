#include "synps/load_memory.h"

#include <algorithm>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {

Error memory_too_large(const StoredWeight& weight) {
  Problem problem{.code = ErrorCode::limit};
  problem.what = "the weight's size in memory does not fit 64 bits";
  problem.field = weight.weight.path;
  return Error(std::move(problem));
}

namespace {

std::uint64_t granules(const StoredWeight& weight, std::optional<std::uint64_t> bytes) {
  if (bytes) bytes = checked_round_up(*bytes, kHeapGranule);
  if (!bytes) throw memory_too_large(weight);
  return *bytes;
}

}  // namespace

std::vector<std::uint64_t> heap_blocks(const StoredWeight& weight, const FormDecision& decision) {
  if (decision.form.residency == Residency::mapped) return {};
  if (decision.dequantizes)
    return {granules(weight, checked_mul(weight.weight.shape.elements(), sizeof(float)))};
  std::vector<std::uint64_t> blocks;
  blocks.reserve(weight.components.size());
  for (const StoredComponent& stored : weight.components)
    blocks.push_back(granules(weight, decision.relays || stored.compressed()
                                          ? stored.component.bytes
                                          : stored.stored_bytes));
  return blocks;
}

std::uint64_t chunk_room(const StoredComponent& component) noexcept {
  const std::uint64_t chunks = component.chunks();
  if (chunks == 0) return 0;
  const std::uint64_t last = component.chunk_end(chunks - 1) - component.chunk_begin(chunks - 1);
  return chunks == 1 ? last : std::max(last, component.chunk_bytes);
}

std::uint64_t conversion_buffer_bytes(const StoredWeight& weight, const FormDecision& decision) {
  std::uint64_t bytes = 0;
  for (const StoredComponent& stored : weight.components) {
    const std::uint64_t chunk = chunk_room(stored);
    if (decision.dequantizes)
      bytes = saturating_add(bytes, chunk);
    else if (decision.relays)
      bytes = std::max(bytes, chunk);
  }
  return bytes;
}

std::uint64_t row_buffer_bytes(const StoredWeight& weight, const FormDecision& decision) {
  const std::uint64_t rows = weight.weight.shape.rows();
  if (!decision.dequantizes || rows == 0) return 0;
  std::uint64_t row = 0;
  std::uint64_t all = 0;
  for (const StoredComponent& stored : weight.components) {
    if (stored.order == Order::rows1 || stored.component.per_weight) continue;
    row = saturating_add(row, stored.component.bytes / rows);
    all = saturating_add(all, stored.component.bytes);
  }
  return std::min(all, std::max(row, kRowPieceBytes));
}

}  // namespace synps
