#pragma once

#include <cmath>
#include <cstddef>

namespace synps::kernels {

// How products are summed: what defines the bits, in scalar code. docs/kernels.md.

inline constexpr std::size_t kChains = 32;   ///< of matvec and matmul
inline constexpr std::size_t kQ8Chains = 8;  ///< of matvec_q8

/// s[i mod 32] = fma(w_i, x_i, s[i mod 32]), i ascending. The first of the values belongs to
/// chain 0.
inline void add_products(const float* w, const float* x, std::size_t count, float* s) noexcept {
  for (std::size_t i = 0; i < count; ++i) s[i % kChains] = std::fma(w[i], x[i], s[i % kChains]);
}

/// The sum of the chains, halved in number again and again: s[k] += s[k + half]. Overwrites them.
template <std::size_t kCount>
float reduce_chains(float* s) noexcept {
  for (std::size_t half = kCount / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) s[k] += s[k + half];
  return s[0];
}

}  // namespace synps::kernels
