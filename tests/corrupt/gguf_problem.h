#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "synps/checkpoint.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps::testing {

/// What opening a GGUF file of these bytes says is wrong: the first problem, whose code and file
/// are checked.
inline Problem gguf_problem(std::string_view bytes) {
  const TempDir dir;
  const std::string path = dir.file("bad.gguf");
  write_file(path, bytes);
  const std::vector<Problem> problems = thrown_problems([&] { Checkpoint::open(path); });
  if (problems.empty()) return thrown_problem([] {});
  CHECK(problems.front().code == ErrorCode::checkpoint);
  CHECK(problems.front().file == path);
  return problems.front();
}

}  // namespace synps::testing
