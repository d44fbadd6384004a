#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pack_fixture.h"
#include "synps/artifact_set.h"

namespace synps::testing {

/// Bytes of a shard that would hold nothing: header and index, a page each.
inline constexpr std::uint64_t kEmptyShard = 2 * 4096;

/// Packs of one checkpoint into several files.
struct ShardFixture : PackFixture {
  Policy rules;
  std::uint64_t limit = 0;
  std::string index = dir.file("model.synps.index.json");

  ShardFixture(const SafetensorsBuilder& builder, Policy policy, std::uint64_t max_bytes)
      : PackFixture(builder), rules(std::move(policy)), limit(max_bytes) {}

  Plan plan(const Checkpoint& checkpoint) const {
    PlanOptions options;
    options.max_shard_bytes = limit;
    return make_plan(checkpoint, rules, options);
  }
  PackReport pack_shards(const PackOptions& options = {}, Os& os = Os::posix()) const {
    const Checkpoint checkpoint = Checkpoint::open(input, os);
    return synps::pack(checkpoint, plan(checkpoint), output, options, os);
  }
  /// Name and content of everything in the folder but the checkpoint.
  std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> found;
    for (const std::string& name : dir.list())
      if (name != "model.safetensors") found.emplace_back(name, read_file(dir.file(name)));
    return found;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& each : files()) found.push_back(each.first);
    return found;
  }
  std::string shard(std::uint64_t number, std::uint64_t count) const {
    return dir.file(shard_name("model.synps", number, count));
  }
};

/// A limit that gives mixed_tensors() under mixed_policy() several shards.
inline constexpr std::uint64_t kMixedLimit = 25'000;

}  // namespace synps::testing
