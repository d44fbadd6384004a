#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "synps/error.h"
#include "synps/policy.h"

namespace synps {

/// Problems of a policy's files, collected to be thrown together.
class ProblemList {
 public:
  explicit ProblemList(std::string file) : files_{std::move(file)} {}
  /// `files` as in Policy::files().
  explicit ProblemList(std::vector<std::string> files) : files_(std::move(files)) {}

  const std::string& file() const noexcept { return files_.front(); }
  bool empty() const noexcept { return problems_.empty(); }

  /// From now on, places without a source of their own are in this one.
  void set_source(std::uint32_t source) noexcept { source_ = source; }

  /// Fills in file and place; the code is `policy` unless the caller sets another with `code`.
  void add(SourcePlace place, Problem problem, ErrorCode code = ErrorCode::policy);
  /// The same for problems that name their place, in the current source.
  void add_all(const Error& error);

  /// Adds those of a list of the same files, which is left empty.
  void take_from(ProblemList& other);

  /// All problems, in an order that does not depend on that of adding: packages that could not be
  /// had first, which others may follow from; then by file and place. Leaves none.
  std::vector<Problem> take();
  /// Throws all as one Error; there must be one. Who shows them may show fewer.
  [[noreturn]] void throw_all();
  void throw_if_any() {
    if (!empty()) throw_all();
  }

 private:
  struct Placed {
    std::uint32_t source = 0;
    Problem problem;
  };

  std::vector<std::string> files_;
  std::uint32_t source_ = 0;
  std::vector<Placed> problems_;
};

}  // namespace synps
