#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace synps {

/// What `model-00002-of-00003.synps` says, as Hugging Face names shards.
struct ShardName {
  std::string artifact{};    ///< "model.synps"
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t count = 0;
};

/// What the name of a file says, without its folder; nothing for a name of another kind.
std::optional<ShardName> parse_shard_name(std::string_view path);

}  // namespace synps
