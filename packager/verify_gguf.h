#pragma once

#include <string>

#include "synps/verify.h"

namespace synps {

/// Whether a file starts as GGUF does. Throws Error(io).
bool starts_as_gguf(Os& os, const std::string& path);

/// verify() of a GGUF file.
VerifyReport verify_gguf(const std::string& path, const CodecRegistry& codecs,
                         const VerifyOptions& options, Os& os);

}  // namespace synps
