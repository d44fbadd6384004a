#pragma once

// Replaces operator new and delete of a test program, in every form: a sanitizer has its own of
// those that are left out, and does not want memory of one kind freed by the other. For one source
// file of a program, which defines the two functions.

#include <cstddef>
#include <new>

namespace synps::testing {

/// Null when there is none. `alignment` is 0 where no particular one is asked for.
void* take_memory(std::size_t size, std::size_t alignment) noexcept;
/// What take_memory() gave, or null.
void give_back_memory(void* memory) noexcept;

inline void* take_or_throw(std::size_t size, std::size_t alignment) {
  void* memory = take_memory(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace synps::testing

void* operator new(std::size_t size) {
  return synps::testing::take_or_throw(size, 0);
}
void* operator new[](std::size_t size) {
  return synps::testing::take_or_throw(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return synps::testing::take_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return synps::testing::take_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return synps::testing::take_memory(size, 0);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return synps::testing::take_memory(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return synps::testing::take_memory(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return synps::testing::take_memory(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete[](void* memory) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  synps::testing::give_back_memory(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  synps::testing::give_back_memory(memory);
}
