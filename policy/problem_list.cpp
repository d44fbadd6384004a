#include "problem_list.h"

#include <algorithm>
#include <tuple>

namespace synps {

void ProblemList::add(SourcePlace place, Problem problem, ErrorCode code) {
  const std::uint32_t source = place.source != 0 ? place.source : source_;
  problem.code = code;
  problem.file = files_.at(source);
  problem.line = place.line;
  problem.column = place.column;
  problems_.push_back({source, std::move(problem)});
}

void ProblemList::add_all(const Error& error) {
  for (const Problem& problem : error.problems()) problems_.push_back({source_, problem});
}

void ProblemList::take_from(ProblemList& other) {
  for (Placed& each : other.problems_) problems_.push_back(std::move(each));
  other.problems_.clear();
}

std::vector<Problem> ProblemList::take() {
  const auto rank = [](const Placed& each) {
    const Problem& problem = each.problem;
    return std::make_tuple(problem.code != ErrorCode::package, each.source, problem.line,
                           problem.column, std::string_view(problem.what),
                           std::string_view(problem.field), std::string_view(problem.found));
  };
  std::sort(problems_.begin(), problems_.end(),
            [&](const Placed& a, const Placed& b) { return rank(a) < rank(b); });
  std::vector<Problem> taken;
  for (Placed& each : problems_) taken.push_back(std::move(each.problem));
  problems_.clear();
  return taken;
}

void ProblemList::throw_all() {
  throw Error(take());
}

}  // namespace synps
