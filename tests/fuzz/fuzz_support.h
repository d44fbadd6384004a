#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "synps/error.h"

/// libFuzzer's entry: each harness defines it, and returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace synps::testing {

/// What must hold for every input. Ends the program, so that a fuzzer keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// An error about an input has a code of its kind, says what is wrong, and names the file.
inline void require_useful(const Error& error, std::string_view file, ErrorCode code) {
  for (const Problem& problem : error.problems()) {
    require(problem.code == code || problem.code == ErrorCode::limit, "the code fits the input");
    require(!problem.what.empty(), "the error says what is wrong");
    require(problem.file == file, "the error names the file");
  }
  for (const char* c = error.what(); *c != '\0'; ++c)
    require(static_cast<unsigned char>(*c) >= 0x20 || *c == '\n', "the message is printable");
}

}  // namespace synps::testing
