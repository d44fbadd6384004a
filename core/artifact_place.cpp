#include "artifact_place.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "synps/checked.h"

namespace synps {
namespace {

enum class Class : std::uint8_t { volatile_packed, packed, dense_aligned, dense_rest, compressed };

Class class_of(const StoredWeight& weight, const StoredComponent& stored) noexcept {
  if (stored.compressed()) return Class::compressed;
  if (!is_dense(weight)) return is_volatile(weight) ? Class::volatile_packed : Class::packed;
  return stored.stored_bytes % kPackedAlignment == 0 ? Class::dense_aligned : Class::dense_rest;
}

bool is_reserved_name(std::string_view name) noexcept {
  return name.starts_with("__synps") || name == "__metadata__";
}

/// Larger elements first among the dense ones at the end, so that each is aligned to its own size.
unsigned size_rank(Class place, const StoredComponent& stored) noexcept {
  return place == Class::dense_rest ? 64 - dtype_bits(stored.component.dtype) : 0;
}

}  // namespace

bool is_dense(const StoredWeight& weight) noexcept {
  return weight.components.size() == 1 && weight.components.front().component.name == "values";
}

bool is_plain(const StoredWeight& weight) noexcept {
  return is_dense(weight) && !weight.components.front().compressed();
}

bool is_volatile(const StoredWeight& weight) noexcept {
  return weight.scheme && weight.scheme->is_volatile;
}

std::string entry_name(const StoredWeight& weight, const StoredComponent& stored) {
  if (is_plain(weight)) return weight.weight.path;
  const std::string name = weight.weight.path + "#" + stored.component.name;
  return stored.compressed() ? name + ".zstd" : name;
}

std::optional<std::uint64_t> bound_of_frames(const StoredComponent& stored) noexcept {
  const std::uint64_t chunks = stored.chunks();
  if (chunks == 0) return 0;
  const auto full = frame_bound(stored.chunk_bytes);
  const auto last = frame_bound(stored.component.bytes - stored.chunk_begin(chunks - 1));
  if (chunks == 1) return last;
  const auto most = full ? checked_mul(*full, chunks - 1) : std::nullopt;
  return most && last ? checked_add(*most, *last) : std::nullopt;
}

FrameContent frame_content(const StoredWeight& weight, const StoredComponent& stored,
                           std::uint64_t chunk) noexcept {
  return {stored.chunk_end(chunk) - stored.chunk_begin(chunk),
          is_dense(weight) ? plane_width(stored.component.dtype) : 1};
}

std::uint64_t sum_bytes(Compression compression) noexcept {
  return sizeof(Digest) + (compression == Compression::none ? 0 : sizeof(std::uint64_t));
}

std::uint64_t plain_digests(const ArtifactIndex& index) noexcept {
  std::uint64_t count = 0;
  for (const StoredWeight& weight : index.weights)
    for (const StoredComponent& stored : weight.components)
      if (!stored.compressed()) count += stored.chunks();
  return count;
}

std::uint64_t sum_offset(const StoredComponent& stored, std::uint64_t chunk,
                         std::uint64_t plain) noexcept {
  const std::uint64_t number = stored.first_digest + chunk;
  if (!stored.compressed()) return sizeof(Digest) * number;
  return sizeof(Digest) * plain + sum_bytes(stored.compression) * (number - plain);
}

std::uint64_t sums_used(const ArtifactIndex& index) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredWeight& weight : index.weights)
    for (const StoredComponent& stored : weight.components)
      bytes = saturating_add(bytes, saturating_mul(stored.chunks(), sum_bytes(stored.compression)));
  return bytes;
}

std::vector<std::string> unusable_entry_names(const ArtifactIndex& index) {
  std::vector<std::string> unusable;
  std::set<std::string_view> taken;
  for (const StoredWeight& weight : index.weights)
    for (const StoredComponent& stored : weight.components)
      if (is_reserved_name(stored.entry) || !taken.insert(stored.entry).second)
        unusable.push_back(stored.entry);
  return unusable;
}

void sort_lists(ArtifactIndex& index) {
  const auto by_key = [](const Decision& a, const Decision& b) { return a.key < b.key; };
  for (StoredWeight& weight : index.weights) {
    const SharedList<Decision>& list = weight.decisions;
    if (std::is_sorted(list.begin(), list.end(), by_key)) continue;
    std::vector<Decision> sorted(list.begin(), list.end());
    std::sort(sorted.begin(), sorted.end(), by_key);
    weight.decisions = std::move(sorted);
  }
}

std::vector<ComponentNumber> in_data_order(const ArtifactIndex& index) {
  using Key = std::tuple<Class, unsigned, std::size_t, std::size_t>;  // class, size, weight, part
  std::vector<Key> keys;
  for (std::size_t w = 0; w < index.weights.size(); ++w)
    for (std::size_t c = 0; c < index.weights[w].components.size(); ++c) {
      const StoredComponent& stored = index.weights[w].components[c];
      const Class place = class_of(index.weights[w], stored);
      keys.emplace_back(place, size_rank(place, stored), w, c);
    }
  std::sort(keys.begin(), keys.end());
  std::vector<ComponentNumber> order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back({std::get<2>(key), std::get<3>(key)});
  return order;
}

void place_components(ArtifactIndex& index, std::uint64_t begin) {
  for (const ComponentNumber number : in_data_order(index)) {
    StoredComponent& stored = number.in(index);
    stored.offset = begin;
    begin += stored.stored_bytes;
  }
}

std::uint64_t number_digests(ArtifactIndex& index) {
  std::uint64_t next = 0;
  for (const ComponentNumber number : in_data_order(index)) {
    StoredComponent& stored = number.in(index);
    stored.first_digest = next;
    next += stored.chunks();
  }
  return next;
}

}  // namespace synps
