#pragma once

#include <memory>

#include "code_path.h"
#include "synps/codec.h"

namespace synps {

std::shared_ptr<const Codec> make_q3_k(CodePath path);

}  // namespace synps
