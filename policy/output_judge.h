#pragma once

#include <optional>
#include <string>

#include "policy_document.h"
#include "policy_resolver.h"
#include "synps/output_kind.h"
#include "weight_judge.h"

namespace synps {

/// Why a file of this kind has no room for a `format` that the policy at `place` names. Artifacts
/// hold every format.
std::optional<WeightFault> format_fault(const std::string& format, SourcePlace place,
                                        OutputKind output, const CodecRegistry& codecs);

/// What the policies ask of a weight's form, and a file of this kind cannot hold. Artifacts hold
/// every form.
std::optional<WeightFault> form_fault(const SetResolution& set, OutputKind output,
                                      const WeightResolution& weight);

/// Why whoever loads a file of this kind may refuse the weight as it is stored, though the file has
/// room for it; "" for nothing.
std::string type_warning(const WeightFacts& facts, OutputKind output, const CodecRegistry& codecs,
                         const WeightResolution& weight);

}  // namespace synps
