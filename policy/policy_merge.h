#pragma once

#include <cstdint>
#include <vector>

#include "policy_document.h"
#include "policy_file.h"

namespace synps {

/// Adds what a file says to what its bases say. Under one pattern (by its text) a key of the file
/// replaces the bases' key, and a scheme their scheme of the same scope and lifetime; a group or
/// device replaces theirs of the same name. Everything else adds up. `document.entries` and
/// `document.groups` are left in no particular order.
void merge_into(PolicyDocument& document, PolicyFile file);

}  // namespace synps
