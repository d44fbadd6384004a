#pragma once

#include <string>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"

namespace synps {

/// The codec that decodes each weight, or null where it is kept and nothing decodes it. What a
/// codec gets to read later is checked here: that the components have the types, shapes and sizes
/// it stores for the weight. `file` is for messages. Throws Error(package) naming every codec that
/// `codecs` lacks, or has in another revision, Error(artifact) for components that do not fit.
std::vector<const Codec*> codecs_of(const std::string& file,
                                    const std::vector<StoredWeight>& weights,
                                    const CodecRegistry& codecs);

}  // namespace synps
