#pragma once

#include <string>
#include <string_view>

#include "synps/codec_registry.h"
#include "synps/error.h"

namespace synps {

/// What a policy's `format` or `fallback` names, or a command line's codec.
struct FormatName {
  std::string name;              ///< `package:export`, or "keep"; empty when there is a problem
  const Codec* codec = nullptr;  ///< null for keep
  Problem problem;               ///< without a place
};
FormatName resolve_format(std::string_view name, const CodecRegistry& codecs);

}  // namespace synps
