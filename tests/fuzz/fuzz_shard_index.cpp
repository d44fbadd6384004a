// The shard index: its text alone, without shards.

#include <simdjson.h>

#include "fuzz_support.h"
#include "shard_index.h"

using namespace synps;
using namespace synps::testing;

namespace {

void require_sound(const ShardIndex& index, std::string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(json);
  require(parser.parse(text).error() == simdjson::SUCCESS, "the index is JSON");
  for (std::size_t i = 0; i < index.shards.size(); ++i) {
    const std::string& name = index.shards[i];
    require(name.find('/') == name.npos && name.find('\0') == name.npos && name != ".." &&
                name != "." && !name.empty(),
            "shards lie beside the index");
    require(i == 0 || index.shards[i - 1] < name, "shards are sorted and differ");
  }
  for (std::size_t i = 0; i < index.tensors.size(); ++i) {
    require(index.tensors[i].shard < index.shards.size(), "tensors are in a shard");
    require(i == 0 || index.tensors[i - 1].name < index.tensors[i].name,
            "tensors are sorted and differ");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json = text_of(data, size);
  try {
    ShardIndexProblems problems("fuzz");
    const ShardIndex index = parse_shard_index(json, "fuzz", problems);
    require_sound(index, json);
    problems.throw_if_any();
    require(!index.tensors.empty(), "an index without problems has tensors");
  } catch (const Error& error) {
    require_useful(error, "fuzz", ErrorCode::checkpoint);
  }
  return 0;
}
