#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synps::pattern {

/// The text of a segment pattern that matches `own` and nothing that one of `segments` does not
/// match: their intersection where a segment can write it, at worst `own` itself. Each of
/// `segments` is the text of a segment pattern that matches `own`; there is at least one.
/// `own` when comparing them takes more than `steps`, of which it subtracts what it took.
std::string meet_segments(const std::vector<std::string>& segments, std::string_view own,
                          std::uint64_t& steps);

}  // namespace synps::pattern
