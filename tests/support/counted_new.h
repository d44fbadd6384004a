#pragma once

// Replaces operator new and delete of a test program by ones that count what is taken. For one
// source file of a program.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "replaced_new.h"

namespace synps::testing {

/// Bytes that are taken now, and the most since reset_peak().
class LiveBytes {
 public:
  void take(std::uint64_t bytes) noexcept {
    const std::uint64_t now = live_.fetch_add(bytes) + bytes;
    std::uint64_t peak = peak_.load();
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  void give_back(std::uint64_t bytes) noexcept { live_.fetch_sub(bytes); }
  void reset_peak() noexcept { peak_ = live_.load(); }
  std::uint64_t live() const noexcept { return live_.load(); }
  std::uint64_t peak() const noexcept { return peak_.load(); }

 private:
  std::atomic<std::uint64_t> live_{0};
  std::atomic<std::uint64_t> peak_{0};
};

inline LiveBytes all_bytes;      ///< of every operator new
inline LiveBytes aligned_bytes;  ///< of those of them that ask for an alignment

/// What is kept in front of a block, which starts `offset` bytes behind what malloc gave.
struct CountedBlock {
  std::uint64_t size;
  std::uint64_t offset;
  bool aligned;
};

void* take_memory(std::size_t size, std::size_t alignment) noexcept {
  const bool aligned = alignment != 0;
  const std::size_t unit = std::max(alignment, alignof(std::max_align_t));
  const std::size_t offset = (sizeof(CountedBlock) + unit - 1) / unit * unit;
  if (size > ~std::size_t{0} - 2 * offset) return nullptr;
  const std::size_t whole = (offset + size + unit - 1) / unit * unit;
  auto* raw = static_cast<std::byte*>(std::aligned_alloc(unit, whole));
  if (raw == nullptr) return nullptr;
  new (raw + offset - sizeof(CountedBlock)) CountedBlock{size, offset, aligned};
  all_bytes.take(size);
  if (aligned) aligned_bytes.take(size);
  return raw + offset;
}

void give_back_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* bytes = static_cast<std::byte*>(memory);
  const CountedBlock note = *reinterpret_cast<const CountedBlock*>(bytes - sizeof(CountedBlock));
  all_bytes.give_back(note.size);
  if (note.aligned) aligned_bytes.give_back(note.size);
  std::free(bytes - note.offset);
}

}  // namespace synps::testing
