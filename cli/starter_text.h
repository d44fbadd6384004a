#pragma once

#include <string>
#include <vector>

#include "starter_policy.h"

namespace synps::cli {

/// A starter policy as a commented synps.toml. `checkpoint` is its name in a comment; "" for none.
std::string starter_text(const StarterPolicy& policy, const std::vector<WeightFacts>& weights,
                         const std::string& checkpoint, const CodecRegistry& codecs);

}  // namespace synps::cli
