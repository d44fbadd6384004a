#pragma once

#include <memory>
#include <string>
#include <vector>

#include "synps.h"
#include "synps/artifact.h"
#include "synps/codec_registry.h"
#include "synps/trace.h"

namespace synps::c {

/// What an artifact is opened with: the caller's options, and what they point at.
struct Opening {
  OpenOptions options{};
  std::unique_ptr<CodecRegistry> codecs{};  ///< null: the built-in ones
  std::unique_ptr<TraceSink> trace{};
  std::vector<std::string> override_paths{};  ///< that must cover a weight
};

/// `options` may be null. Throws Error(usage) for values that make no sense, Error(package) for a
/// codec package that does not load.
Opening read_options(const synps_options* options);

/// Whether a path that an override names covers a weight: it is the weight's, or above it.
bool covers(const std::string& path, std::string_view weight) noexcept;

}  // namespace synps::c
