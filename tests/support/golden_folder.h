#pragma once

#include <string>

#include "synps/codec_registry.h"

namespace synps::testing {

/// The name of a codec's golden folder: as a policy writes it, the colon as an underscore.
inline std::string folder_name(const CodecInfo& info) {
  std::string name = CodecRegistry::short_name(info);
  for (char& c : name)
    if (c == ':') c = '_';
  return name;
}

}  // namespace synps::testing
