#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/format_name.h"

namespace synps {

/// The pseudo-format that stores any source encoding unchanged.
inline constexpr std::string_view kKeep = "keep";

/// What an entry of `[myelin].formats` names.
struct EncodingName {
  std::string name;  ///< a dtype's encoding_name, or `package:export`; empty: a problem
  Problem problem;   ///< without a place
};
EncodingName resolve_encoding(std::string_view name, const CodecRegistry& codecs);

/// The source encoding that a codec reads: its dense dtype's name, else its `package:export`.
std::string encoding_of(const CodecInfo& info);

/// How messages write a format: "q8_0" for q8_0:q8_0, else as it is.
std::string short_format(std::string_view name, const CodecRegistry& codecs);

}  // namespace synps
