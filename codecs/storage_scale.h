#pragma once

#include <span>
#include <vector>

#include "storage_state.h"
#include "synps/codec.h"

namespace synps {

/// The numbers that the values of a storage are multiplied by when they are encoded: those of a
/// companion scale that is not in them yet. None for other storages.
class StorageScale {
 public:
  /// Reads them. Throws Error(checkpoint), naming the number, for one that is not finite or zero;
  /// what reading the scale throws.
  explicit StorageScale(const StorageState& storage);

  /// Multiplies the values of a piece.
  void apply(const Piece& piece, std::span<float> values, ValueReport& report) const;

 private:
  const StorageState& storage_;
  std::vector<float> numbers_{};
};

/// Whether the values of a storage are to be multiplied by a scale yet.
bool awaits_scale(const StorageState& storage) noexcept;

/// Throws Error(usage) when the scale that they await is not at hand, or does not fit the weight.
void check_scale(const StorageState& storage);

}  // namespace synps
