#pragma once

#include <vector>

#include "policy_document.h"
#include "problem_list.h"
#include "weight_resolution.h"

namespace synps {

// What is allowed and most likely not meant. Bases are left out: they are written for other files
// too. Where finding out takes too long, a warning says so.

/// Policies whose every key is overridden by narrower ones, keys that change nothing, schemes of
/// policies whose weights need none.
void warn_of_useless_keys(const PolicyDocument& document, const Resolution& resolution,
                          ProblemList& warnings);

/// The same where no checkpoint is known: keys and schemes that narrower policies override for
/// every path there could be.
void warn_of_covered_keys(const PolicyDocument& document, ProblemList& warnings);

/// Policies that no weight is under, and that are no error because they speak of no weights: a
/// dtype or a device for what lies below them.
void warn_of_unmatched_policies(const PolicyDocument& document, const Resolution& resolution,
                                ProblemList& warnings);

/// Policies that set nothing.
void warn_of_empty_policies(const PolicyDocument& document, ProblemList& warnings);

/// Policies for values that are not weights under paths that no weight is near: neither the pattern
/// nor what is left of it without its last segment covers any.
void warn_of_remote_values(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                           ProblemList& warnings);

/// Devices and packages that nothing names.
void warn_of_unused_names(const PolicyDocument& document, ProblemList& warnings);

/// Entries of [myelin].formats that no weight has.
void warn_of_unused_formats(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                            ProblemList& warnings);

/// The warnings of the weights themselves.
void warn_of_weights(const std::vector<WeightFacts>& weights,
                     const std::vector<WeightResolution>& resolved, ProblemList& warnings);

}  // namespace synps
