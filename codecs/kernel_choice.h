#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "synps/codec.h"

namespace synps {

/// Whether every codec encodes and decodes a few thousand values as its reference does. Both lists
/// have the same codecs in the same sequence.
bool kernels_agree(const std::vector<std::shared_ptr<const Codec>>& fast,
                   const std::vector<std::shared_ptr<const Codec>>& reference);

/// Where the machine has AVX-512, takes the kernels for it only if `agree` says so after they were
/// chosen: it is the instruction set that the fewest machines run the tests on. Otherwise AVX2 is
/// what is left.
void trust_avx512_if(const std::function<bool()>& agree);

}  // namespace synps
