#pragma once

#include <vector>

#include "synps/kernel.h"

namespace synps {

/// The kernels that come with synps, for all targets; those of other machines are listed, but do
/// not run here.
std::vector<Kernel> make_builtin_kernels();

/// A registry of them, to which others can be added.
KernelRegistry make_builtin_kernel_registry();

/// The same, shared and constant.
const KernelRegistry& builtin_kernels();

}  // namespace synps
