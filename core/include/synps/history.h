#pragma once

#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"

namespace synps {

/// Whether encoding in the codec that a weight is stored in has rounded its values, by types: it
/// does not hold every value that they had before, which is every value of what rounded them last,
/// or, where nothing did, of the source. A scale that was folded in counts as rounded by the codec
/// that the products were encoded in. A codec of the history that is not known decodes to f32.
bool stored_step_rounded(const CodecRegistry& codecs, const StoredWeight& weight);

/// All encodings that have rounded a weight's values by now, oldest first: its history, and its
/// codec where that did. It is the history of what the weight is encoded in next.
std::vector<CodecRef> rounded_so_far(const CodecRegistry& codecs, const StoredWeight& weight);
/// The same where the weight's codec is at hand, or null.
std::vector<CodecRef> rounded_so_far(const CodecRegistry& codecs, const StoredWeight& weight,
                                     const Codec* codec);

}  // namespace synps
