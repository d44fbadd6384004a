#pragma once

#include <optional>

#include "policy_document.h"
#include "policy_resolver.h"
#include "synps/output_kind.h"
#include "synps/packed_form.h"

namespace synps {

/// What is wrong with a weight under its policies. Equal for weights with the same fault: their
/// paths are not in it.
struct WeightFault {
  SourcePlace place;  ///< line 0: nowhere
  Problem problem;
  /// One fault wherever it shows: the place is only the first that shows it.
  bool anywhere = false;
};

/// What weights are packed into.
struct Packing {
  OutputKind output = OutputKind::artifact;
  const PackTargets* target = nullptr;  ///< null: any order can be had
};

/// Completes what a set of policies says with a weight's own facts: that it needs no scheme, which
/// codec stores its shape, whether the source can be read. Ambiguities of the set are left to the
/// caller; those that do not concern the weight (see concerns()) are none.
std::optional<WeightFault> judge(const WeightFacts& facts, const SetResolution& set,
                                 const PolicyDocument& document, const Packing& packing,
                                 WeightResolution& out);

/// The same for a path of which nothing else is known: the scheme's codec, unjudged. What could be
/// wrong is a warning.
void assume(const SetResolution& set, const PolicyDocument& document, OutputKind output,
            WeightResolution& out);

}  // namespace synps
