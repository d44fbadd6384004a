#pragma once

#include <string>
#include <utility>

#include "synps/error.h"

namespace synps {

/// Error(usage) for a call about a weight of an open artifact; `path` may be empty.
inline Error usage_error(const std::string& file, std::string path, std::string what,
                         std::string found = {}, std::string want = {}, std::string hint = {}) {
  return Error({.code = ErrorCode::usage,
                .file = file,
                .what = std::move(what),
                .field = std::move(path),
                .found = std::move(found),
                .want = std::move(want),
                .hint = std::move(hint)});
}

}  // namespace synps
