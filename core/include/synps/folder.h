#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace synps {

/// Names of the visible entries of a folder, sorted. Throws Error(io).
std::vector<std::string> visible_names(const std::string& folder);

/// Whether a name, joined to a folder, is an entry of that folder: one with a folder in it could
/// lead anywhere.
bool is_plain_file_name(std::string_view name) noexcept;

}  // namespace synps
