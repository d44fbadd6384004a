#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace synps {

/// Where bytes on the heap start: as packed components do in the file, so that code that reads them
/// can rely on it wherever they are.
inline constexpr std::size_t kHeapAlignment = 64;

struct FreeHeapBytes {
  void operator()(std::byte* bytes) const noexcept {
    ::operator delete[](bytes, std::align_val_t{kHeapAlignment});
  }
};
using HeapBytes = std::unique_ptr<std::byte[], FreeHeapBytes>;

/// Not initialised. Throws std::bad_alloc.
inline HeapBytes allocate_bytes(std::uint64_t size) {
  return HeapBytes(
      static_cast<std::byte*>(::operator new[](size, std::align_val_t{kHeapAlignment})));
}

}  // namespace synps
