#pragma once

#include <optional>

#include "policy_document.h"
#include "policy_resolver.h"

namespace synps {

/// What is wrong with a weight under its policies. Equal for weights with the same fault: their
/// paths are not in it.
struct WeightFault {
  SourcePlace place;
  Problem problem;
};

/// Completes what a set of policies says with a weight's own facts: that it needs no scheme, which
/// codec stores its shape, whether the source can be read. Ambiguities of the set are left to the
/// caller; those that do not concern the weight (see concerns()) are none.
std::optional<WeightFault> judge(const WeightFacts& facts, const SetResolution& set,
                                 const PolicyDocument& document, const CodecRegistry& codecs,
                                 WeightResolution& out);

/// The same for a path of which nothing else is known: the scheme's codec, unjudged.
void assume(const SetResolution& set, const CodecRegistry& codecs, WeightResolution& out);

/// Whether a weight with or without float values has the key at all: weights that are not floats
/// have neither format nor fallback nor dtype.
bool concerns(std::string_view key, bool is_float) noexcept;

}  // namespace synps
