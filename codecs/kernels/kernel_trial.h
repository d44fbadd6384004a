#pragma once

#include <vector>

#include "synps/kernel.h"

namespace synps {

/// Whether every kernel that runs here gives the bits of the portable one of the same operation,
/// codec and order, on a small matrix. `kernels` has both.
bool products_agree(const std::vector<Kernel>& kernels);

}  // namespace synps
