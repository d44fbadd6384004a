#pragma once

#include <memory>

#include "code_path.h"
#include "synps/codec.h"

namespace synps {

std::shared_ptr<const Codec> make_mxfp4(CodePath path);

}  // namespace synps
