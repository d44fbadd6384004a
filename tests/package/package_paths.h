#pragma once

#include <stdlib.h>

#include <string>

namespace synps::testing {

// Shared objects that this folder builds.
inline const std::string kQ8Row = SYNPS_TEST_Q8_ROW;     // package q8_row, from docs/codec_package
inline const std::string kLeft = SYNPS_TEST_LEFT;        // the same under the name left
inline const std::string kRight = SYNPS_TEST_RIGHT;      // the same under the name right
inline const std::string kHostile = SYNPS_TEST_HOSTILE;  // package hostile
inline const std::string kHostileFast = SYNPS_TEST_HOSTILE_FAST;  // the same, -ffast-math
inline const std::string kNotAPackage = SYNPS_TEST_NOT_A_PACKAGE;

/// What hostile.cpp breaks, for packages loaded while this lives.
class HostileRule {
 public:
  explicit HostileRule(const std::string& rule) {
    setenv("SYNPS_TEST_HOSTILE", rule.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~HostileRule() { unsetenv("SYNPS_TEST_HOSTILE"); }  // NOLINT(concurrency-mt-unsafe)
  HostileRule(const HostileRule&) = delete;
  HostileRule& operator=(const HostileRule&) = delete;
};

}  // namespace synps::testing
