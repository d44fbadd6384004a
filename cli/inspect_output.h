#pragma once

#include <cstddef>
#include <string>

#include "synps/artifact_reader.h"
#include "synps/checkpoint.h"

namespace synps::cli {

// What `inspect` prints: docs/cli.md, "inspect".
std::string inspect_text(const ArtifactReader& artifact, bool all, std::size_t width);
std::string inspect_json(const ArtifactReader& artifact);
std::string inspect_text(const Checkpoint& checkpoint, bool all, std::size_t width);
std::string inspect_json(const Checkpoint& checkpoint);

}  // namespace synps::cli
