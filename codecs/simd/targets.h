#pragma once

// Which instruction sets the kernels are compiled for; to be included before any Highway header.
//
// x86-64: AVX2 (with F16C), and AVX-512 (F, CD, BW, DQ, VL), of which the kernels take the
// instructions but not the width: with 256 bits nearly all of them wait for memory. Older machines
// run the reference. AArch64: NEON. SVE is left out because kernels keep vectors in arrays, which
// takes a fixed width.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
