#pragma once

#include <string>
#include <utility>
#include <vector>

#include "synps/error.h"
#include "synps/policy.h"

namespace synps {

/// Problems of one file, collected to be thrown together.
class ProblemList {
 public:
  explicit ProblemList(std::string file) : file_(std::move(file)) {}

  const std::string& file() const noexcept { return file_; }
  bool empty() const noexcept { return problems_.empty(); }

  /// Fills in file and place; the code is `policy` unless the caller sets another with `code`.
  void add(SourcePlace place, Problem problem, ErrorCode code = ErrorCode::policy);

  /// Throws all as one Error, by line and column; there must be one. Who shows them may show fewer.
  [[noreturn]] void throw_all();
  void throw_if_any() {
    if (!empty()) throw_all();
  }

 private:
  std::string file_;
  std::vector<Problem> problems_;
};

}  // namespace synps
