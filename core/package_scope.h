#pragma once

#include <cfenv>
#include <exception>
#include <string>

namespace synps {

/// Code of a package runs on this thread while this lives.
///
/// It starts in the default floating-point environment, and what it does to its own (rounding,
/// flushing of subnormals, traps) is undone: a shared object that was linked with -ffast-math
/// changes the environment of whoever loads it, and with it the bytes that every codec writes.
///
/// A package that calls exit() ends the process with code 9 and a sentence instead of in silence.
class PackageScope {
 public:
  /// `file` is the package's, `function` what is called; both outlive this.
  PackageScope(const std::string& file, const char* function) noexcept;
  ~PackageScope();
  PackageScope(const PackageScope&) = delete;
  PackageScope& operator=(const PackageScope&) = delete;

 private:
  const std::string* file_before_;
  const char* function_before_;
  std::fenv_t environment_{};
};

/// What an exception of a package says, cut to a length that suits a message; "" for a null text.
std::string exception_text(const std::exception& thrown);

}  // namespace synps
