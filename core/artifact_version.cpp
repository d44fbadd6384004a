#include "artifact_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "synps/artifact_index.h"

namespace synps {
namespace {

/// Versions are numbers in decimal, without leading zeros.
bool is_number(std::string_view text) noexcept {
  return !text.empty() && (text.front() != '0' || text.size() == 1) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

const char* hint_for(std::string_view version) noexcept {
  if (version == "0")
    return "version 0 was never frozen, and only the synps that wrote the file reads it; pack the "
           "checkpoint again";
  if (is_number(version))
    return "a newer synps wrote the file; read it with that one, or pack the checkpoint again";
  return "the file is damaged, or was not written by synps";
}

}  // namespace

Problem version_problem(const std::string& file, std::string field,
                        std::optional<std::string_view> found) {
  return {.code = ErrorCode::artifact,
          .file = file,
          .what = "the artifact has another format version",
          .field = std::move(field),
          .found = found ? quote(*found) : "none",
          .want = fmt::format("{}, which this synps reads", kArtifactVersion),
          .hint = hint_for(found.value_or(""))};
}

}  // namespace synps
