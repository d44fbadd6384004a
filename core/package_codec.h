#pragma once

#include <memory>

#include "package_call.h"
#include "synps/codec.h"

namespace synps {

/// A codec of a package, as the rest of synps sees any codec. Trusts no answer: see
/// synps/codec_abi.h for what is checked. Pieces that are large are passed on in parts, so that the
/// memory for guarded copies is bounded by a row or about 128 Ki elements.
std::shared_ptr<const Codec> make_package_codec(PackageCodecTable table);

}  // namespace synps
