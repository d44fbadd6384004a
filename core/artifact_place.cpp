#include "artifact_place.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace synps {
namespace {

enum class Class : std::uint8_t { volatile_packed, packed, dense_aligned, dense_rest };

Class class_of(const StoredWeight& weight, const StoredComponent& stored) noexcept {
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

bool is_volatile(const StoredWeight& weight) noexcept {
  return weight.scheme && weight.scheme->is_volatile;
}

std::string entry_name(const StoredWeight& weight, const StoredComponent& stored) {
  if (is_dense(weight)) return weight.weight.path;
  return weight.weight.path + "#" + stored.component.name;
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
  for (StoredWeight& weight : index.weights)
    std::sort(weight.decisions.begin(), weight.decisions.end(),
              [](const Decision& a, const Decision& b) { return a.key < b.key; });
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
