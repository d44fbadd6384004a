#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

// Which targets there are depends on the targets that the kernels are compiled for.
#include "simd/targets.h"

#include <hwy/highway.h>

namespace synps::testing {

/// Runs `body` once for every set of SIMD instructions that the kernels are compiled for and this
/// machine has, with kernels of that set; on x86-64 also without any.
template <typename Body>
void for_each_simd_target(Body body) {
#if defined(HWY_COMPILE_ONLY_STATIC)
  body();  // one target, which is not chosen at run time
#else
  const auto choose = [](std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const std::string name = hwy::TargetName(target);
    CAPTURE(name);
    choose(target);
    body();
  }
  choose(0);  // 0: what the machine has
#endif
}

}  // namespace synps::testing
