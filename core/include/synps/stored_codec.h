#pragma once

#include <span>
#include <string>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"
#include "synps/error.h"

namespace synps {

/// What a weight is stored in: its codec's `package:export`, or, of what is kept, the source's
/// encoding.
std::string stored_in(const StoredWeight& weight);

/// How the components of a weight are compressed.
Compression compression_of(const StoredWeight& weight) noexcept;
/// The request that stores it so again: of the level that was asked for, where one was; what was
/// asked of a weight without elements, of which nothing is there to compress.
CompressRequest compress_request_of(const StoredWeight& weight) noexcept;

/// The codec that decodes a stored weight: the one of exactly the package, export and revision that
/// the index names, or, for a kept weight, the dense codec of its dtype. Null when `codecs` has no
/// such codec.
const Codec* stored_codec(const CodecRegistry& codecs, const StoredWeight& weight) noexcept;

/// The codecs that decode these weights and that `codecs` lacks, or has in another revision: an
/// Error(package)'s problem each, with the package that is needed. `file` is for messages.
std::vector<Problem> missing_codecs(const std::string& file, std::span<const StoredWeight> weights,
                                    const CodecRegistry& codecs);

/// Why the components are not what must be stored for this weight, in words; empty when they are.
/// `codec` is the weight's codec; it is not asked about a kept weight, which stores itself. A codec
/// reads what its components say, so an index that says something else must never reach it. Throws
/// Error(package) for a codec that misbehaves.
std::string component_fault(const StoredWeight& weight, const Codec* codec);

}  // namespace synps
