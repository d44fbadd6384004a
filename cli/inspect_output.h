#pragma once

#include <cstddef>
#include <string>

#include "synps/artifact_set.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"

namespace synps::cli {

// What `inspect` prints: docs/cli.md, "inspect".
std::string inspect_text(const ArtifactSet& artifact, const CodecRegistry& codecs, bool all,
                         std::size_t width);
std::string inspect_json(const ArtifactSet& artifact, const CodecRegistry& codecs);
std::string inspect_text(const Checkpoint& checkpoint, bool all, std::size_t width);
std::string inspect_json(const Checkpoint& checkpoint);

}  // namespace synps::cli
