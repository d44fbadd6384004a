#pragma once

#include "synps/codec_registry.h"
#include "synps/packed_form.h"
#include "synps/policy.h"

namespace synps {

/// What packing can make of a weight, by what a policy says of it. Throws Error(limit) when a size
/// does not fit 64 bits.
PackSource pack_source(const CodecRegistry& codecs, const WeightFacts& facts,
                       const WeightResolution& resolution);

}  // namespace synps
