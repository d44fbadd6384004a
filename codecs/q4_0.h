#pragma once

#include <memory>

#include "synps/codec.h"

namespace synps {

std::shared_ptr<const Codec> make_q4_0();

}  // namespace synps
