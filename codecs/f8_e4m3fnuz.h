#pragma once

#include <memory>

#include "code_path.h"
#include "synps/codec.h"

namespace synps {

std::shared_ptr<const Codec> make_f8_e4m3fnuz(CodePath path);

}  // namespace synps
