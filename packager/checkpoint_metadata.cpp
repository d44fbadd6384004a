#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "checkpoint_files.h"

namespace synps {
namespace {

/// A key's values, in the order of the files: each file's name and what it says.
using Values = std::vector<std::pair<const std::string*, const std::string*>>;

bool all_equal(const Values& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](const auto& value) { return *value.second == *values.front().second; });
}

}  // namespace

std::map<std::string, std::string> merge_metadata(const std::vector<CheckpointFile>& files,
                                                  const std::string& path) {
  std::map<std::string_view, Values> keys;
  for (const CheckpointFile& file : files)
    for (const auto& entry : file.header.metadata)
      keys[entry.first].emplace_back(&file.name, &entry.second);

  std::map<std::string, std::string> merged;
  const auto keep = [&](std::string key, const std::string& value) {
    const auto [kept, is_new] = merged.emplace(std::move(key), value);
    if (!is_new)
      throw Error({.code = ErrorCode::checkpoint,
                   .file = path,
                   .what = "metadata that differs between shards has no free name to be kept under",
                   .field = "__metadata__ key " + quote(kept->first),
                   .hint = "rename that key in the shard that has it"});
  };
  for (const auto& [key, values] : keys) {
    if (all_equal(values))
      keep(std::string(key), *values.front().second);
    else
      for (const auto& [file, value] : values) keep(fmt::format("{}@{}", key, *file), *value);
  }
  return merged;
}

}  // namespace synps
