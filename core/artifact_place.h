#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synps/artifact_layout.h"

namespace synps {

/// Whether the weight is a plain tensor under its own name.
bool is_dense(const StoredWeight& weight) noexcept;
bool is_volatile(const StoredWeight& weight) noexcept;

/// Gives a weight's components their stored bytes and chunks. Throws Error(limit).
void set_sizes(StoredWeight& weight, const RowBytes& row_bytes);

/// The safetensors entry a component goes to.
std::string entry_name(const StoredWeight& weight, const StoredComponent& stored);

/// A component by the number of its weight in the index and its own in the weight.
struct ComponentNumber {
  std::size_t weight = 0;
  std::size_t component = 0;

  StoredComponent& in(ArtifactIndex& index) const {
    return index.weights[weight].components[component];
  }
  const StoredComponent& in(const ArtifactIndex& index) const {
    return index.weights[weight].components[component];
  }
};

/// Entry names that an artifact cannot have: reserved ones, and those that come twice.
std::vector<std::string> unusable_entry_names(const ArtifactIndex& index);

/// Sorts what the format wants sorted besides the weights: decisions by key.
void sort_lists(ArtifactIndex& index);

/// Components in the sequence in which the data section holds them: volatile packed ones, other
/// packed ones, dense ones of a multiple of 64 bytes, the remaining ones by falling element size;
/// within each by path, then the codec's own order. A weight's placement does not depend on
/// offsets, so this can be asked before they are known.
std::vector<ComponentNumber> in_data_order(const ArtifactIndex& index);

/// Gives every component its offset, the first one at `begin`.
void place_components(ArtifactIndex& index, std::uint64_t begin);

/// Gives every component its first digest, in data order; returns how many digests there are.
std::uint64_t number_digests(ArtifactIndex& index);

}  // namespace synps
