#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "synps/policy.h"

namespace synps::cli {

/// What a weight is for, as far as a starter policy treats weights differently.
enum class Role : std::uint8_t {
  norm,
  bias,
  mask,    ///< a constant that attention adds or multiplies
  router,  ///< chooses the experts of a mixture
  scale,   ///< multiplies others, such as values that were quantized before; zero points too
  vector,  ///< other vectors, scalars, and tables as sensitive as those
  embedding,
  head,  ///< makes the output: a vocabulary's or a classifier's scores
  attention,
  feed_forward,
  expert,
  convolution,
  matrix,     ///< any other weight with rows
  not_float,  ///< ids, masks, packed integers, and scales that go with their weights
};

/// The name of a role as a heading: "Feed-forward".
std::string_view role_title(Role role) noexcept;

/// Whether weights of the role make up most of a model: what a preset is about. The others are
/// small.
bool is_large(Role role) noexcept;

/// What each weight is for. Shapes come first: one dimension, a vocabulary's number of rows, the
/// kernel of a convolution. Names are read as words, those of many conventions; where they tell
/// nothing the weight is a matrix or a vector.
std::vector<Role> weight_roles(const std::vector<WeightFacts>& weights);

}  // namespace synps::cli
