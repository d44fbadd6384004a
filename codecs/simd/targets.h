#pragma once

// Which instruction sets the kernels are compiled for; to be included before any Highway header.
//
// x86-64: AVX2 (with F16C). Older machines run the reference. AArch64: NEON.
// AVX-512 is left out: the kernels are limited by memory at 256 bits, or by divisions, which are
// no faster at 512; each target costs as much compile time and code again.
// SVE is left out because the kernels keep vectors in arrays, which needs a fixed width.
#define HWY_DISABLED_TARGETS                                                                  \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128)
