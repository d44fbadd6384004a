#include "gguf_part_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gguf_layout.h"
#include "gguf_parts.h"
#include "shard_cut.h"
#include "synps/artifact_shards.h"
#include "synps/error.h"

namespace synps {
namespace {

// Types as in gguf-split of llama.cpp.
constexpr std::string_view kNumber = "split.no";              // uint16, from 0
constexpr std::string_view kCount = "split.count";            // uint16
constexpr std::string_view kTensors = "split.tensors.count";  // int32, of all parts
constexpr std::string_view kAlignment = "general.alignment";
constexpr std::uint64_t kMostParts = 65'535;
constexpr std::uint64_t kMostTensors = 0x7FFF'FFFF;

class PartPlanner {
 public:
  PartPlanner(Plan& plan, const Checkpoint& checkpoint, std::uint64_t limit,
              const std::string& name)
      : plan_(plan), checkpoint_(checkpoint), limit_(limit), name_(name) {}

  void run() {
    const std::vector<std::size_t>& tensors = plan_.gguf->tensors;
    const std::vector<std::size_t> counts =
        cut_into_files({tensors.size(), limit_, kMostParts,
                        [&](std::size_t i) { return plan_.weights[tensors[i]].bytes; },
                        [&](std::size_t first, std::size_t count) {
                          return part(first, count, 0, 1).artifact_bytes;
                        }});
    check(counts.size(), kMostParts, "parts");
    check(tensors.size(), kMostTensors, "tensors");
    plan_.artifact_bytes = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      PlannedShard shard;
      shard.file = shard_name(name_, i, counts.size());
      shard.plan = part(first, counts[i], i, counts.size());
      shard.over_limit = shard.plan.artifact_bytes > limit_;
      plan_.artifact_bytes += shard.plan.artifact_bytes;
      plan_.shards.push_back(std::move(shard));
      first += counts[i];
    }
    list_changes(counts.size());
  }

 private:
  void check(std::uint64_t found, std::uint64_t most, const char* what) const {
    if (found <= most) return;
    throw Error(
        {.code = ErrorCode::limit,
         .file = checkpoint_.path(),
         .what = fmt::format("the GGUF output would have more {} than its keys can count", what),
         .found = fmt::format("{}", found),
         .want = fmt::format("at most {}", most),
         .hint = "allow larger files"});
  }

  /// The plan of part `number`, which holds `count` tensors from number `first` in the file's
  /// order.
  Plan part(std::size_t first, std::size_t count, std::size_t number, std::size_t parts) const {
    const auto begin = plan_.gguf->tensors.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<std::size_t> in_order(begin, begin + static_cast<std::ptrdiff_t>(count));
    std::vector<std::size_t> members = in_order;
    std::sort(members.begin(), members.end());  // by path
    Plan own;
    own.gguf.emplace();
    own.gguf->alignment = plan_.gguf->alignment;
    own.gguf->source_version = plan_.gguf->source_version;
    for (const PlannedKeyValue& each : plan_.gguf->key_values)
      if (first == 0 || each.key == kAlignment) own.gguf->key_values.push_back(each);
    const auto add = [&](std::string_view key, std::uint64_t value, GgufValueType type) {
      own.gguf->key_values.push_back(
          {std::string(key), {}, static_cast<std::uint32_t>(value), type});
    };
    add(kNumber, number, GgufValueType::uint16);
    add(kCount, parts, GgufValueType::uint16);
    add(kTensors, plan_.gguf->tensors.size(), GgufValueType::int32);
    for (const std::size_t i : members) {
      PlannedWeight weight = plan_.weights[i];
      own.layout.index.weights.push_back(plan_.stored(weight));
      weight.stored = own.weights.size();
      own.source_bytes += weight.source_bytes;
      own.weights.push_back(std::move(weight));
    }
    for (const std::size_t i : in_order)
      own.gguf->tensors.push_back(static_cast<std::size_t>(
          std::lower_bound(members.begin(), members.end(), i) - members.begin()));
    place_gguf(checkpoint_, own);
    return own;
  }

  /// What the first part has of the keys that tell of parts.
  void list_changes(std::size_t parts) {
    const std::pair<std::string_view, std::uint64_t> keys[] = {
        {kNumber, 0}, {kCount, parts}, {kTensors, plan_.gguf->tensors.size()}};
    std::vector<GgufChange>& changes = plan_.gguf->changes;
    for (const auto& [key, value] : keys) {
      const std::string_view wanted = key;
      auto change = std::find_if(changes.begin(), changes.end(),
                                 [&](const GgufChange& each) { return each.key == wanted; });
      if (change == changes.end())
        change = changes.insert(changes.end(), {std::string(wanted), {}, {}});
      change->to = static_cast<std::uint32_t>(value);
    }
  }

  Plan& plan_;
  const Checkpoint& checkpoint_;
  std::uint64_t limit_;
  const std::string& name_;
};

}  // namespace

void plan_gguf_parts(Plan& plan, const Checkpoint& checkpoint, std::uint64_t limit,
                     const std::string& name) {
  if (plan.artifact_bytes <= limit || plan.weights.size() < 2) return;
  if (!parse_gguf_part_name(shard_name(name, 0, 2)))
    throw Error({.code = ErrorCode::usage,
                 .file = name,
                 .what = "parts of a GGUF file cannot be called after this name",
                 .want = "a name that ends with .gguf"});
  PartPlanner(plan, checkpoint, limit, name).run();
}

}  // namespace synps
