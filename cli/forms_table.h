#pragma once

#include <string>
#include <vector>

#include "synps/codec_registry.h"
#include "synps/kernel.h"
#include "synps/profile.h"

namespace synps::cli {

/// A Markdown table of what the resolver makes of a matrix of every codec and stored order, under
/// every profile, for every target but `native`: what docs/runtime.md has. Codecs, and targets,
/// that agree share a row.
std::string forms_table(const CodecRegistry& codecs, const KernelRegistry& kernels,
                        const std::vector<Profile>& profiles);

}  // namespace synps::cli
