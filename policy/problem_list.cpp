#include "problem_list.h"

#include <algorithm>
#include <tuple>

namespace synps {

void ProblemList::add(SourcePlace place, Problem problem, ErrorCode code) {
  problem.code = code;
  problem.file = file_;
  problem.line = place.line;
  problem.column = place.column;
  problems_.push_back(std::move(problem));
}

void ProblemList::throw_all() {
  std::sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column, a.what, a.field, a.found) <
           std::tie(b.line, b.column, b.what, b.field, b.found);
  });
  throw Error(std::move(problems_));
}

}  // namespace synps
