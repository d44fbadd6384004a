#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "synps/error.h"

namespace synps::cli {

/// Exit codes beyond ErrorCode's. docs/cli.md lists all.
inline constexpr int kInternalError = 70;
inline constexpr int kSignalBase = 128;

/// Problems shown before the rest is only counted.
inline constexpr std::size_t kShownProblems = 50;

/// `synps: error: …` lines for standard error.
std::string error_lines(const std::vector<Problem>& problems);

/// Runs `body` and returns its exit code, or, when it throws, says what is wrong on standard error
/// and returns the code of that fault.
int run_reporting(const std::function<int()>& body) noexcept;

/// A usage error.
Error usage_error(std::string what, std::string hint = {});

}  // namespace synps::cli
