#pragma once

#include <string>

#include "load_report.h"
#include "synps/memory_plan.h"
#include "synps/packed_form.h"
#include "synps/plan.h"

namespace synps::cli {

/// What loading the planned artifact takes by `how`, for the kernels that its weights are packed
/// for; those of any CPU, where devices have several.
LoadReport report_load_for(const Plan& plan, const CodecRegistry& codecs,
                           const PackTargets& targets, LoadOptions how);

/// What the profiles of the weights' devices have against the plan. A strict one refuses what it
/// would refuse at load: throws Error(limit), with `file` for the message. Of one that is not, and
/// has memory of its own, warns that its weights do not fit.
void check_device_profiles(const Plan& plan, const CodecRegistry& codecs,
                           const PackTargets& targets, const std::string& file);

}  // namespace synps::cli
