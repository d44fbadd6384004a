#include "artifact_codecs.h"

#include <utility>

#include "synps/error.h"
#include "synps/stored_codec.h"

namespace synps {

std::vector<const Codec*> codecs_of(const std::string& file,
                                    const std::vector<StoredWeight>& weights,
                                    const CodecRegistry& codecs) {
  if (auto missing = missing_codecs(file, weights, codecs); !missing.empty())
    throw Error(std::move(missing));
  std::vector<const Codec*> found(weights.size(), nullptr);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    found[i] = stored_codec(codecs, weights[i]);
    if (std::string fault = component_fault(weights[i], found[i]); !fault.empty())
      throw Error({.code = ErrorCode::artifact,
                   .file = file,
                   .what = std::move(fault),
                   .field = weights[i].weight.path,
                   .hint = "the file is damaged; make or copy it again"});
  }
  return found;
}

}  // namespace synps
