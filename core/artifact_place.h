#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/frame.h"

namespace synps {

/// Whether the weight is its values, one element each.
bool is_dense(const StoredWeight& weight) noexcept;
/// Whether the weight is a plain tensor under its own name: dense, and not compressed.
bool is_plain(const StoredWeight& weight) noexcept;
bool is_volatile(const StoredWeight& weight) noexcept;

/// The most that the frames of a compressed component take; nothing when that is 2^64 or more.
/// Needs its true bytes and chunks.
std::optional<std::uint64_t> bound_of_frames(const StoredComponent& stored) noexcept;

/// Bytes of a chunk's place in the sums: a digest, and the size of the frame where there is one.
std::uint64_t sum_bytes(Compression compression) noexcept;
/// Bytes that the sums hold, padding not included.
std::uint64_t sums_used(const ArtifactIndex& index) noexcept;
/// Digests of components that are not compressed: they come first in the sums.
std::uint64_t plain_digests(const ArtifactIndex& index) noexcept;
/// Where a chunk's digest is in the sums, in bytes; `plain` is plain_digests().
std::uint64_t sum_offset(const StoredComponent& stored, std::uint64_t chunk,
                         std::uint64_t plain) noexcept;

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
/// packed ones, dense ones of a multiple of 64 bytes, the remaining ones by falling element size,
/// compressed ones; within each by path, then the codec's own order. It depends neither on offsets
/// nor on the sizes of frames, so this can be asked before they are known.
std::vector<ComponentNumber> in_data_order(const ArtifactIndex& index);

/// Gives every component its offset, the first one at `begin`.
void place_components(ArtifactIndex& index, std::uint64_t begin);

/// Gives every component its first digest, in data order; returns how many digests there are.
std::uint64_t number_digests(ArtifactIndex& index);

}  // namespace synps
