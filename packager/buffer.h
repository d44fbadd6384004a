#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "synps/checked.h"

namespace synps {

/// Memory that is used again and again, and grows to the largest use. It begins at a page, and is
/// not touched before it is used.
template <class T>
class Buffer {
  static_assert(std::is_trivially_default_constructible_v<T>);

 public:
  Buffer() = default;
  ~Buffer() { free(); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  /// Memory for `count` values, of whatever value. Invalidates what was taken before.
  std::span<T> take(std::uint64_t count) {
    if (count > size_) grow(count);
    return {data_, static_cast<std::size_t>(count)};
  }

 private:
  static constexpr std::align_val_t kAlignment{4096};

  void grow(std::uint64_t count) {
    const auto bytes = checked_mul(count, sizeof(T));
    if (!bytes || *bytes > PTRDIFF_MAX) throw std::bad_alloc();
    free();  // nothing of it is needed any more
    data_ = static_cast<T*>(::operator new(static_cast<std::size_t>(*bytes), kAlignment));
    size_ = count;
  }
  void free() noexcept {
    ::operator delete(data_, kAlignment);
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace synps
