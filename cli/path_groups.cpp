#include "path_groups.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "path_folding.h"
#include "synps/path_pattern.h"

namespace synps::cli {
namespace {

/// Stands for a number in a skeleton. Where a name holds it, numbers are counted instead.
constexpr char kAnyNumber = '\x01';

/// Beyond these, numbers are counted.
constexpr std::size_t kMaxSegments = 16;
constexpr std::size_t kMaxPathBytes = 512;
constexpr std::size_t kMaxMasks = 16;

/// Of a pattern that siblings join in: what leaves a table's header within 100 columns.
constexpr std::size_t kPatternBytes = 76;

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 0;;) {
    const std::size_t end = path.find('.', begin);
    segments.push_back(path.substr(begin, end - begin));
    if (end == std::string_view::npos) return segments;
    begin = end + 1;
  }
}

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether `path` lies below `root` in the tree of names.
bool is_below(std::string_view path, std::string_view root) noexcept {
  return path.size() > root.size() && path[root.size()] == '.' &&
         path.compare(0, root.size(), root) == 0;
}

/// An order in which all that is below a path follows it at once: a dot comes before any other
/// character.
bool tree_less(std::string_view a, std::string_view b) noexcept {
  const auto [i, j] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (i == a.end() || j == b.end()) return i == a.end() && j != b.end();
  if (*i == '.' || *j == '.') return *i == '.';
  return static_cast<unsigned char>(*i) < static_cast<unsigned char>(*j);
}

/// How long a path is and which of its segments are numbers.
struct Mask {
  std::size_t segments = 0;
  std::uint32_t numbers = 0;  ///< bit i: segment i

  bool has(std::size_t i) const noexcept { return (numbers >> i & 1u) != 0; }
  bool operator<(const Mask& other) const noexcept {
    return std::pair(segments, numbers) < std::pair(other.segments, other.numbers);
  }
};

/// The mask of a path, or none (no segments) where numbers are not to become `*`: one with no
/// number, with nothing but numbers, or with very many segments.
Mask mask_of(const std::vector<std::string_view>& segments) {
  if (segments.size() > kMaxSegments) return {};
  Mask mask{segments.size(), 0};
  bool named = false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (is_number(segments[i]))
      mask.numbers |= std::uint32_t{1} << i;
    else
      named = named || !segments[i].empty();
  }
  return named && mask.numbers != 0 ? mask : Mask{};
}

/// The first segments of a path, with kAnyNumber where the mask has numbers.
std::string skeleton(const std::vector<std::string_view>& segments, const Mask& mask) {
  std::string out;
  for (std::size_t i = 0; i < mask.segments; ++i) {
    if (i != 0) out += '.';
    if (mask.has(i))
      out += kAnyNumber;
    else
      out += segments[i];
  }
  return out;
}

class Grouping {
 public:
  explicit Grouping(const std::vector<GroupItem>& items) : items_(items) {}
  std::vector<PathGroup> groups();

 private:
  struct Skeleton {
    std::string text;
    Mask mask;
    std::vector<std::size_t> members;
    std::size_t covered = 0;  ///< items that it covers with `*` for every number
    bool same_key = true;
  };

  void set_nested_apart();
  void find_skeletons();
  void count_covered();
  void narrow_to_varying(Skeleton& skeleton) const;
  void fold_skeletons();
  void fold_rest();

  const std::vector<GroupItem>& items_;
  std::vector<bool> done_;  ///< by item: is in a group
  std::vector<Skeleton> skeletons_;
  std::unordered_map<std::string, std::size_t> index_;  ///< of skeletons, by text
  std::vector<PathGroup> groups_;
};

/// Items with another item above or below, unless neither has a key.
void Grouping::set_nested_apart() {
  std::vector<std::size_t> order(items_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tree_less(items_[a].path, items_[b].path);
  });
  std::vector<bool> nested(items_.size(), false);
  std::vector<std::optional<std::size_t>> above(items_.size());
  std::vector<std::size_t> chain;  // the items above the current one
  for (const std::size_t i : order) {
    while (!chain.empty() && !is_below(items_[i].path, items_[chain.back()].path)) chain.pop_back();
    if (!chain.empty()) above[i] = chain.back();
    for (const std::size_t each : chain) {
      if (items_[i].key.empty() && items_[each].key.empty()) continue;
      nested[i] = nested[each] = true;
    }
    chain.push_back(i);
  }
  for (const std::size_t i : order) {
    if (!nested[i]) continue;
    groups_.push_back({PathPattern::literal(items_[i].path), {i}, true, above[i]});
    done_[i] = true;
  }
}

void Grouping::find_skeletons() {
  const auto holds_mark = [](const GroupItem& item) {
    return item.path.find(kAnyNumber) != std::string::npos;
  };
  if (std::any_of(items_.begin(), items_.end(), holds_mark)) return;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (done_[i] || items_[i].key.empty() || items_[i].path.size() > kMaxPathBytes) continue;
    const std::vector<std::string_view> segments = split(items_[i].path);
    const Mask mask = mask_of(segments);
    if (mask.segments == 0) continue;
    std::string text = skeleton(segments, mask);
    const auto [found, added] = index_.try_emplace(text, skeletons_.size());
    if (added) skeletons_.push_back({std::move(text), mask, {}, 0, true});
    Skeleton& group = skeletons_[found->second];
    group.same_key = group.same_key &&
                     (group.members.empty() || items_[group.members.front()].key == items_[i].key);
    group.members.push_back(i);
  }
}

/// Fills `covered`, for the masks that most weights have; the rest is taken to cover too much.
void Grouping::count_covered() {
  std::map<Mask, std::size_t> uses;
  for (const Skeleton& group : skeletons_) uses[group.mask] += group.members.size();
  std::vector<std::pair<std::size_t, Mask>> masks;
  for (const auto& [mask, count] : uses) masks.emplace_back(count, mask);
  std::stable_sort(masks.begin(), masks.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (masks.size() > kMaxMasks) masks.resize(kMaxMasks);
  if (masks.empty()) return;
  for (const GroupItem& item : items_) {
    const std::vector<std::string_view> segments = split(item.path);
    for (const auto& [count, mask] : masks) {
      if (segments.size() < mask.segments) continue;
      const auto found = index_.find(skeleton(segments, mask));
      if (found != index_.end()) ++skeletons_[found->second].covered;
    }
  }
}

/// A number that all members share stays as it is. What remains covers less.
void Grouping::narrow_to_varying(Skeleton& group) const {
  const std::vector<std::string_view> first = split(items_[group.members.front()].path);
  Mask varying{group.mask.segments, 0};
  for (const std::size_t member : group.members) {
    const std::vector<std::string_view> segments = split(items_[member].path);
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (segments[i] != first[i]) varying.numbers |= std::uint32_t{1} << i;
  }
  group.mask = varying;
  group.text = skeleton(first, varying);
}

/// Siblings among the skeletons. They may only join where their numbers are in the same places.
void Grouping::fold_skeletons() {
  std::vector<FoldItem> folded;
  std::vector<const Skeleton*> exact;
  for (Skeleton& group : skeletons_) {
    if (!group.same_key || group.covered != group.members.size()) continue;
    narrow_to_varying(group);
    folded.push_back({group.text, items_[group.members.front()].key + '\0' +
                                      std::to_string(group.mask.numbers)});
    exact.push_back(&group);
  }
  FoldOptions options;
  options.numbers = false;
  options.max_width = kPatternBytes;
  for (const FoldedRow& row : fold_paths(folded, options)) {
    PathGroup group;
    group.pattern = row.pattern;
    std::replace(group.pattern.begin(), group.pattern.end(), kAnyNumber, '*');
    for (const std::size_t one : row.members)
      for (const std::size_t member : exact[one]->members) {
        group.members.push_back(member);
        done_[member] = true;
      }
    groups_.push_back(std::move(group));
  }
}

void Grouping::fold_rest() {
  std::vector<FoldItem> rest;
  std::vector<std::size_t> item_of;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (done_[i] || items_[i].key.empty()) continue;
    rest.push_back({items_[i].path, items_[i].key});
    item_of.push_back(i);
  }
  FoldOptions options;
  options.max_width = kPatternBytes;
  for (const FoldedRow& row : fold_paths(rest, options)) {
    PathGroup group;
    group.pattern = row.pattern;
    for (const std::size_t one : row.members) group.members.push_back(item_of[one]);
    groups_.push_back(std::move(group));
  }
}

std::vector<PathGroup> Grouping::groups() {
  done_.assign(items_.size(), false);
  set_nested_apart();
  find_skeletons();
  count_covered();
  fold_skeletons();
  fold_rest();
  const auto before = [&](std::size_t a, std::size_t b) {
    return natural_less(items_[a].path, items_[b].path);
  };
  for (PathGroup& group : groups_) std::sort(group.members.begin(), group.members.end(), before);
  std::sort(groups_.begin(), groups_.end(), [&](const PathGroup& a, const PathGroup& b) {
    return before(a.members.front(), b.members.front());
  });
  return std::move(groups_);
}

}  // namespace

std::vector<PathGroup> group_paths(const std::vector<GroupItem>& items) {
  return Grouping(items).groups();
}

}  // namespace synps::cli
