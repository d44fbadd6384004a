#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "synps/artifact.h"
#include "synps/artifact_index.h"
#include "synps/codec.h"
#include "synps/form.h"
#include "synps/weight.h"

namespace synps {

struct StorageState;
class WeightStorage;

/// Storages never change, and are shared.
using SharedStorage = std::shared_ptr<const WeightStorage>;

/// What a storage is made of whose bytes a program has.
struct StorageParts {
  Weight weight{};
  const Codec* codec = nullptr;  ///< outlives the storage; null: kept as the source had it
  Order order = Order::rows1;
  Orientation orientation = Orientation::out_in;
  Residency residency = Residency::heap;
  std::string device = "local";     ///< where the bytes are; "local": in this process's reach
  std::vector<CodecRef> history{};  ///< see WeightStorage::history()
  /// True bytes of what codec->components() says, not copied; of a kept weight its elements. On
  /// another device what they point at is never touched.
  std::vector<std::span<const std::byte>> components{};
  std::shared_ptr<const void> owner{};  ///< keeps them alive; null: the caller does
};

/// One weight as it is stored in memory, or in a mapped file. What its bytes mean is all here:
/// codec, order, compression. All functions may be called from any number of threads.
class WeightStorage {
 public:
  /// Of bytes that a program has. Throws Error(usage) when they are not what the codec stores for
  /// the weight, or the order is one that it cannot have; Error(limit), Error(package).
  static SharedStorage of(StorageParts parts);

  explicit WeightStorage(std::unique_ptr<const StorageState> state) noexcept;
  ~WeightStorage();
  WeightStorage(const WeightStorage&) = delete;
  WeightStorage& operator=(const WeightStorage&) = delete;

  const Weight& weight() const noexcept;  ///< path, shape and logical dtype
  /// Null when nothing decodes the bytes, which are as the source had them.
  const Codec* codec() const noexcept;
  Order order() const noexcept;
  Orientation orientation() const noexcept;
  CompressRequest compression() const noexcept;
  Residency residency() const noexcept;
  const std::string& device() const noexcept;
  /// Codecs that have rounded the values before the present one did, the first of them first.
  const std::vector<CodecRef>& history() const noexcept;
  /// The companion scale that the values are to be multiplied by, or have been.
  const std::optional<StoredScale>& scale() const noexcept;

  /// Bytes that the components take: true ones, or of all frames.
  std::uint64_t bytes() const noexcept;
  std::size_t component_count() const noexcept;
  const Component& component_info(std::size_t i) const;
  /// The true bytes of a component, not copied, blocks as order() says. Throws Error(usage) where
  /// there are none: compressed, on another device, no such component; Error(artifact) when a
  /// checksum of the artifact does not fit.
  std::span<const std::byte> component(std::size_t i) const;

  /// As WeightView::decode(). Compressed rows are inflated meanwhile.
  void decode(RowRange rows, std::span<float> out) const;
  /// All rows.
  std::vector<float> decode() const;

  /// For the library.
  const StorageState& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<const StorageState> state_;
};

}  // namespace synps
