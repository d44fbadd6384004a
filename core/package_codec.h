#pragma once

#include <cstdint>
#include <memory>

#include "package_call.h"
#include "synps/codec.h"

namespace synps {

/// Elements that a package gets to see at a time, where rows are shorter or can be cut: the same
/// as a packager's piece.
inline constexpr std::uint64_t kPackagePart = 1u << 17;

/// A codec of a package, as the rest of synps sees any codec. Trusts no answer: see
/// synps/codec_abi.h for what is checked. Pieces that are large are passed on in parts, so that the
/// memory for guarded copies is bounded by a row or about 128 Ki elements.
std::shared_ptr<const Codec> make_package_codec(PackageCodecTable table);

}  // namespace synps
