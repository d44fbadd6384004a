#pragma once

#include <string>

#include "synps/codec_registry.h"

namespace synps::cli {

/// A Markdown table of what becomes of values when what one codec stores is encoded by another:
/// what docs/codecs.md has. Codecs that agree share a row, or a column.
std::string pairs_table(const CodecRegistry& codecs);

/// The same for every pair, as `synps codecs --pairs --json` prints it.
std::string pairs_json(const CodecRegistry& codecs);

}  // namespace synps::cli
