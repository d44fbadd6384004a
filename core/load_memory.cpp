#include "synps/load_memory.h"

#include <algorithm>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

Error too_large(const StoredWeight& weight) {
  Problem problem{.code = ErrorCode::limit};
  problem.what = "the weight's size in memory does not fit 64 bits";
  problem.field = weight.weight.path;
  return Error(std::move(problem));
}

std::uint64_t granules(const StoredWeight& weight, std::optional<std::uint64_t> bytes) {
  if (bytes) bytes = checked_round_up(*bytes, kHeapGranule);
  if (!bytes) throw too_large(weight);
  return *bytes;
}

std::uint64_t chunk_of(const StoredComponent& stored) noexcept {
  return std::min(stored.chunk_bytes, stored.component.bytes);
}

}  // namespace

std::vector<std::uint64_t> heap_blocks(const StoredWeight& weight, const FormDecision& decision) {
  if (decision.form.residency == Residency::mapped) return {};
  if (decision.dequantizes)
    return {granules(weight, checked_mul(weight.weight.shape.elements(), sizeof(float)))};
  std::vector<std::uint64_t> blocks;
  blocks.reserve(weight.components.size());
  for (const StoredComponent& stored : weight.components)
    blocks.push_back(
        granules(weight, decision.converts() ? stored.component.bytes : stored.stored_bytes));
  return blocks;
}

std::uint64_t conversion_buffer_bytes(const StoredWeight& weight, const FormDecision& decision) {
  std::uint64_t bytes = 0;
  for (const StoredComponent& stored : weight.components) {
    const std::uint64_t chunk = chunk_of(stored);
    if (decision.dequantizes)
      bytes = saturating_add(bytes, chunk);
    else if (decision.relays)
      bytes = std::max(bytes, chunk);
  }
  return bytes;
}

}  // namespace synps
