#include "starter_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "starter_policy.h"
#include "synps/error.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr std::size_t kWidth = 98;
constexpr std::size_t kPatternWidth = 64;
constexpr std::size_t kListedRows = 12;
constexpr std::size_t kListedShapes = 3;
constexpr std::size_t kListedLengths = 5;

/// The first `width` code points, with an ellipsis for what is cut. Never breaks a line.
std::string shown(std::string_view text, std::size_t width) {
  const std::string whole = escape_for_display(text);
  if (display_width(whole) <= width) return whole;
  std::size_t end = 0;
  for (std::size_t left = width; left > 0; --left) {
    ++end;
    while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0u) == 0x80u) ++end;
  }
  return whole.substr(0, end) + "…";
}

/// How often each value comes, the most frequent first, else in the order of the values.
template <typename Value>
std::vector<std::pair<Value, std::uint64_t>> by_weight(
    const std::map<Value, std::uint64_t>& counts) {
  std::vector<std::pair<Value, std::uint64_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace

std::string comment(std::string_view text, std::string_view prefix) {
  std::string lines = wrapped(text, kWidth - prefix.size(), 0);
  for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
    lines.insert(at + 1, prefix);
  return fmt::format("{}{}\n", prefix, lines);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

std::string StarterSummary::shapes(const Members& members) const {
  std::map<std::vector<std::uint64_t>, std::uint64_t> counts;
  for (const std::size_t i : members) ++counts[weights_[i].weight.shape.extents()];
  const auto sorted = by_weight(counts);
  const auto text = [](const auto& entry) { return Shape(entry.first).to_string(); };
  const std::string total = counted(members.size(), "weight");
  if (sorted.size() == 1) return fmt::format("{} of {}", total, text(sorted.front()));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sorted.size() && i < kListedShapes; ++i)
    parts.push_back(fmt::format("{} of {}", grouped(sorted[i].second), text(sorted[i])));
  if (sorted.size() > kListedShapes)
    parts.push_back(counted(sorted.size() - kListedShapes, "more shape"));
  return fmt::format("{} ({})", total, joined(parts));
}

std::string StarterSummary::encodings(const Members& members) const {
  std::map<std::string, std::uint64_t> sums;
  for (const std::size_t i : members)
    sums[short_codec(weights_[i].encoding)] += source_bytes(weights_[i]);
  std::vector<std::string> names;
  for (const auto& entry : by_weight(sums)) names.push_back(entry.first);
  return joined(names);
}

std::string StarterSummary::amount(const Members& members) const {
  return fmt::format("{}, {} of {}", counted(members.size(), "weight"), human_bytes(bytes(members)),
                     encodings(members));
}

std::string StarterSummary::shapes_and_amount(const Members& members) const {
  return fmt::format("{}, {} of {}", shapes(members), human_bytes(bytes(members)),
                     encodings(members));
}

std::string StarterSummary::row_lengths(const Members& members) const {
  std::set<std::uint64_t> lengths;
  for (const std::size_t i : members) lengths.insert(weights_[i].weight.shape.columns());
  std::vector<std::string> parts;
  for (const std::uint64_t length : lengths)
    if (parts.size() < kListedLengths) parts.push_back(grouped(length));
  if (lengths.size() > kListedLengths)
    parts.push_back(fmt::format("{} more", lengths.size() - kListedLengths));
  return joined(parts);
}

std::string StarterSummary::brief_shapes(const Members& members) const {
  std::set<std::vector<std::uint64_t>> shapes;
  for (const std::size_t i : members) shapes.insert(weights_[i].weight.shape.extents());
  return fmt::format(
      "{} of {}", grouped(members.size()),
      shapes.size() == 1 ? Shape(*shapes.begin()).to_string() : counted(shapes.size(), "shape"));
}

std::uint64_t StarterSummary::bytes(const Members& members) const {
  std::uint64_t sum = 0;
  for (const std::size_t i : members) sum += source_bytes(weights_[i]);
  return sum;
}

std::vector<std::string> StarterSummary::lists(const std::vector<Members>& sets) const {
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> set_of(weights_.size(), kNone);
  bool floats = true;
  for (std::size_t s = 0; s < sets.size(); ++s)
    for (const std::size_t i : sets[s]) {
      set_of[i] = s;
      floats = weights_[i].needs_scheme();
    }
  std::vector<GroupItem> items;
  Members weight_of;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i].needs_scheme() != floats) continue;
    std::string key;
    if (set_of[i] != kNone)
      key = std::to_string(set_of[i]) + " " + short_codec(weights_[i].encoding);
    items.push_back({weights_[i].weight.path, std::move(key)});
    weight_of.push_back(i);
  }
  std::vector<std::vector<PathGroup>> rows(sets.size());
  for (PathGroup& group : group_paths(items)) {
    for (std::size_t& member : group.members) member = weight_of[member];
    const std::size_t set = set_of[group.members.front()];
    if (set != kNone) rows[set].push_back(std::move(group));
  }
  std::vector<std::string> out;
  for (const std::vector<PathGroup>& each : rows) out.push_back(list(each));
  return out;
}

std::string StarterSummary::list(const std::vector<PathGroup>& rows) const {
  const std::size_t listed = std::min(rows.size(), kListedRows);
  std::size_t width = 0;
  std::vector<std::string> patterns;
  for (std::size_t r = 0; r < listed; ++r) {
    patterns.push_back(rows[r].pattern.empty() ? "\"\"" : shown(rows[r].pattern, kPatternWidth));
    width = std::max(width, display_width(patterns.back()));
  }
  std::string out;
  for (std::size_t r = 0; r < listed; ++r)
    out += fmt::format(
        "#   {}{}  {} {}\n", patterns[r], std::string(width - display_width(patterns[r]), ' '),
        brief_shapes(rows[r].members), short_codec(weights_[rows[r].members.front()].encoding));
  std::uint64_t rest = 0;
  for (std::size_t r = listed; r < rows.size(); ++r) rest += rows[r].members.size();
  if (rest != 0) out += fmt::format("#   and {}\n", counted(rest, "more weight"));
  return out;
}

std::string StarterSummary::table_of_encodings() const {
  struct Total {
    std::uint64_t weights = 0, elements = 0, bytes = 0;
  };
  std::map<std::string, Total> totals;
  for (const WeightFacts& facts : weights_) {
    Total& total = totals[short_codec(facts.encoding)];
    ++total.weights;
    total.elements += facts.weight.shape.elements();
    total.bytes += source_bytes(facts);
  }
  std::size_t widest = 9;
  for (const auto& each : totals) widest = std::max(widest, each.first.size());
  std::string out;
  for (const auto& [encoding, total] : totals)
    out += fmt::format("#     {:<{}} {:>15} {:>25}   {}\n", encoding, widest,
                       counted(total.weights, "tensor"), counted(total.elements, "element"),
                       human_bytes(total.bytes));
  return out;
}

}  // namespace synps::cli
