#include "failing_new.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "replaced_new.h"

namespace synps::testing {

std::atomic<long> until_failure = 0;

namespace {

bool fails_now() noexcept {
  long left = until_failure.load();
  while (left > 0)
    if (until_failure.compare_exchange_weak(left, left - 1)) return left == 1;
  return false;
}

}  // namespace

void* take_memory(std::size_t size, std::size_t alignment) noexcept {
  if (fails_now()) return nullptr;
  const std::size_t unit = std::max(alignment, alignof(std::max_align_t));
  const std::size_t whole = (size + unit - 1) / unit * unit;
  return std::aligned_alloc(unit, whole != 0 ? whole : unit);
}

void give_back_memory(void* memory) noexcept {
  std::free(memory);
}

}  // namespace synps::testing
