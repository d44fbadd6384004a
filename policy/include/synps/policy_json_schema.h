#pragma once

#include <string>

namespace synps {

/// The JSON Schema (draft-07) of synps.toml, for editors: TOML language servers complete, describe
/// and check a policy file with it. Made of the table that the parser reads, so that what it
/// refuses the parser refuses too. Indented, with a final newline; always the same bytes.
std::string policy_json_schema();

}  // namespace synps
