#include "shard_plan.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "shard_cut.h"
#include "synps/artifact_shards.h"
#include "synps/error.h"

namespace synps {
namespace {

class ShardPlanner {
 public:
  ShardPlanner(Plan& plan, const Checkpoint& checkpoint, const CodecRegistry& codecs,
               std::uint64_t limit, const std::string& name)
      : plan_(plan), checkpoint_(checkpoint), codecs_(codecs), limit_(limit), name_(name) {
    order_.resize(plan.weights.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::stable_partition(order_.begin(), order_.end(), [&](std::size_t i) {
      return is_key_value_encoding(plan.stored(plan.weights[i]).source);
    });
    packed_ = needs_synps(plan.layout.index.weights);
  }

  void run() {
    check_metadata();
    const std::vector<std::size_t> counts = cut_into_files(
        {order_.size(), limit_, kMaxShards,
         [&](std::size_t i) { return plan_.weights[order_[i]].bytes; },
         [&](std::size_t first, std::size_t count) { return file_bytes(members(first, count)); }});
    check_count(counts.size());
    std::size_t first = 0;
    for (const std::size_t count : counts) {
      add(members(first, count), counts.size());
      first += count;
    }
    plan_index();
  }

 private:
  using Members = std::vector<std::size_t>;  ///< of plan.weights, by path

  Members members(std::size_t first, std::size_t count) const {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
    Members found(begin, begin + static_cast<std::ptrdiff_t>(count));
    std::sort(found.begin(), found.end());
    return found;
  }

  ArtifactLayout lay_out_members(const Members& members) const {
    ArtifactContents contents;
    contents.metadata = checkpoint_.metadata();
    contents.values = plan_.layout.index.values;
    contents.packed_elsewhere = packed_;
    contents.weights.reserve(members.size());
    for (const std::size_t i : members) contents.weights.push_back(plan_.stored(plan_.weights[i]));
    return lay_out(std::move(contents), CodecRowBytes(codecs_));
  }

  std::uint64_t file_bytes(const Members& members) const {
    return lay_out_members(members).file_bytes;
  }

  /// Every shard holds all metadata, so that each is whole.
  void check_metadata() const {
    const std::uint64_t bytes = file_bytes({});
    if (bytes <= limit_) return;
    throw Error({.code = ErrorCode::limit,
                 .file = checkpoint_.path(),
                 .what = "a shard would be too large before it holds a weight: each has all of the "
                         "checkpoint's metadata",
                 .found = fmt::format("{} bytes", limit_),
                 .want = fmt::format("more than {} bytes", bytes),
                 .hint = "allow larger shards"});
  }

  void check_count(std::size_t count) const {
    if (count <= kMaxShards) return;
    throw Error({.code = ErrorCode::limit,
                 .file = checkpoint_.path(),
                 .what = "the artifact would have more shards than their names can count",
                 .found = fmt::format("more than {} shards", kMaxShards),
                 .want = fmt::format("at most {}", kMaxShards),
                 .hint = "allow larger shards"});
  }

  void add(const Members& members, std::size_t count) {
    PlannedShard shard;
    shard.file = shard_name(name_, plan_.shards.size(), count);
    Plan& own = shard.plan;
    own.layout = lay_out_members(members);
    own.artifact_bytes = own.layout.file_bytes;
    for (const std::size_t i : members) {
      PlannedWeight weight = plan_.weights[i];
      weight.stored = own.weights.size();  // both are by path
      own.source_bytes += weight.source_bytes;
      own.weights.push_back(std::move(weight));
    }
    shard.over_limit = own.artifact_bytes > limit_;
    plan_.shards.push_back(std::move(shard));
  }

  void plan_index() {
    ArtifactShards index;
    plan_.artifact_bytes = 0;
    for (const PlannedShard& shard : plan_.shards) {
      index.add(shard.file, {}, shard.plan.layout.index);
      plan_.artifact_bytes += shard.plan.artifact_bytes;
    }
    index.sort();
    plan_.shard_index = shard_index_name(name_);
    plan_.shard_index_bytes = to_json(index).size();
    plan_.artifact_bytes += plan_.shard_index_bytes;
  }

  Plan& plan_;
  const Checkpoint& checkpoint_;
  const CodecRegistry& codecs_;
  std::uint64_t limit_;
  const std::string& name_;
  std::vector<std::size_t> order_;
  bool packed_ = false;
};

}  // namespace

void plan_shards(Plan& plan, const Checkpoint& checkpoint, const CodecRegistry& codecs,
                 std::uint64_t limit, const std::string& name) {
  if (plan.artifact_bytes <= limit || plan.weights.size() < 2) return;
  ShardPlanner(plan, checkpoint, codecs, limit, name).run();
}

}  // namespace synps
