// The shard index of an artifact: its text alone, without shards.

#include <string>

#include "fuzz_support.h"
#include "synps/artifact_shards.h"

using namespace synps;
using namespace synps::testing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json = text_of(data, size);
  try {
    const ArtifactShards shards = parse_artifact_shards(json, "fuzz");
    require(!shards.shards.empty(), "there is a shard");
    for (std::size_t i = 0; i < shards.shards.size(); ++i) {
      const std::string& name = shards.shards[i].file;
      require(name.find('/') == name.npos && name.find('\0') == name.npos && name != ".." &&
                  name != "." && !name.empty(),
              "shards lie beside the index");
      require(i == 0 || shards.shards[i - 1].file < name, "shards are sorted and differ");
    }
    for (std::size_t i = 0; i < shards.entries.size(); ++i) {
      require(shards.entries[i].shard < shards.shards.size(), "entries are in a shard");
      require(i == 0 || shards.entries[i - 1].name < shards.entries[i].name,
              "entries are sorted and differ");
    }
    require(parse_artifact_shards(to_json(shards), "fuzz") == shards,
            "what is written reads back the same");
  } catch (const Error& error) {
    require_useful(error, "fuzz", ErrorCode::artifact);
  }
  return 0;
}
