#pragma once

#include <toml++/toml.h>

#include "problem_list.h"

namespace synps {

/// Compares a whole file with the schema and adds every unknown key, wrong type, value that is not
/// allowed, and key or value that this version does not take yet. What codecs, devices and
/// patterns mean is not looked at.
void check_schema(const toml::table& root, ProblemList& problems);

}  // namespace synps
