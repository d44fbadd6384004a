#pragma once

#include <cstdint>
#include <string>

#include "synps/codec_registry.h"
#include "synps/plan.h"

namespace synps {

/// Cuts a plan into shards of at most `limit` bytes, where it is larger, and plans each of them:
/// key-values of GGUF first, then weights by path, as many in each file as fit. `name` is the
/// artifact's file name, without a folder. Throws Error(limit) for more shards than their names can
/// count.
void plan_shards(Plan& plan, const Checkpoint& checkpoint, const CodecRegistry& codecs,
                 std::uint64_t limit, const std::string& name);

}  // namespace synps
