#include "failing_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace synps::testing {

std::atomic<long> until_failure = 0;

}  // namespace synps::testing

namespace {

using synps::testing::until_failure;

bool fails_now() noexcept {
  long left = until_failure.load();
  while (left > 0)
    if (until_failure.compare_exchange_weak(left, left - 1)) return left == 1;
  return false;
}

void* allocate(std::size_t size, std::size_t alignment) {
  if (fails_now()) throw std::bad_alloc();
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole != 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, static_cast<std::size_t>(alignment));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
