#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "load_samples.h"
#include "synps/builtin_codecs.h"
#include "synps/weight_conversion.h"
#include "synps/weight_storage.h"

namespace synps::testing {

inline const Codec& builtin(std::string_view name) {
  return *builtin_registry().resolve(name);
}

/// A storage of bytes that it owns.
inline SharedStorage storage_of(Weight weight, const Codec* codec,
                                std::vector<std::vector<std::byte>> components,
                                Order order = Order::rows1) {
  const auto owned =
      std::make_shared<const std::vector<std::vector<std::byte>>>(std::move(components));
  StorageParts parts;
  parts.weight = std::move(weight);
  parts.codec = codec;
  parts.order = order;
  parts.components = {owned->begin(), owned->end()};
  parts.owner = owned;
  return WeightStorage::of(std::move(parts));
}

/// A storage of made-up values: encoded, or where nothing encodes them, made-up bytes.
inline SharedStorage sample_storage(const Codec& codec, const Shape& shape,
                                    Order order = Order::rows1, std::uint32_t seed = 1) {
  WeightToStore sample = sample_weight(codec, shape, seed);
  sample.order = order;
  CodecRegistry registry;
  registry.add(std::shared_ptr<const Codec>(std::shared_ptr<const Codec>{}, &codec));
  return storage_of({"w", shape, DType::f32}, &codec, encode_weight(sample, registry), order);
}

/// Bytes of all components, which are not compressed.
inline std::vector<std::vector<std::byte>> bytes_of_storage(const WeightStorage& storage) {
  std::vector<std::vector<std::byte>> bytes;
  for (std::size_t c = 0; c < storage.component_count(); ++c) {
    const std::span<const std::byte> from = storage.component(c);
    bytes.emplace_back(from.begin(), from.end());
  }
  return bytes;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Memory that ends the program when it is read.
class Unreadable {
 public:
  explicit Unreadable(std::size_t size)
      : size_(size),
        memory_(
            mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Unreadable() { munmap(memory_, size_); }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;
  bool ok() const noexcept { return memory_ != MAP_FAILED; }
  std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(memory_), size_};
  }

 private:
  std::size_t size_;
  void* memory_;
};

}  // namespace synps::testing
