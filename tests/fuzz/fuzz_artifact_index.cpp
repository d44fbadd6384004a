// The artifact's index: what is accepted is exactly what is written.

#include <string>

#include "fuzz_support.h"
#include "synps/artifact_index.h"

using namespace synps;
using namespace synps::testing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json = text_of(data, size);
  try {
    const ArtifactIndex index = parse_index(json, "fuzz");
    const std::string written = to_json(index);
    require(to_json(parse_index(written, "fuzz")) == written, "what is written reads back");
    for (std::size_t i = 1; i < index.weights.size(); ++i)
      require(index.weights[i - 1].weight.path < index.weights[i].weight.path,
              "weights are sorted and differ");
  } catch (const Error& error) {
    require_useful(error, "fuzz", ErrorCode::artifact);
  }
  return 0;
}
