#pragma once

#include <memory>
#include <vector>

#include "synps/codec_registry.h"

namespace synps {

/// The codecs that come with synps: one line each in builtin_codecs.cpp.
std::vector<std::shared_ptr<const Codec>> make_builtin_codecs();

/// The same codecs in scalar code alone, which defines the bytes. The others give the same bytes,
/// values and findings with the SIMD instructions of the machine; these are for checking that.
std::vector<std::shared_ptr<const Codec>> make_reference_codecs();

/// A registry with the built-in codecs, to which packages can be added.
CodecRegistry make_builtin_registry();

/// The same, shared and constant.
const CodecRegistry& builtin_registry();

}  // namespace synps
