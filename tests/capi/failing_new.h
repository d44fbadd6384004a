#pragma once

// The program's operator new, apart from what uses it: compilers look into pairs of new and delete.

#include <atomic>

namespace synps::testing {

/// Allocations until one fails; 0: none does.
extern std::atomic<long> until_failure;

}  // namespace synps::testing
