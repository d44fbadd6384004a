#include "reencode_problems.h"

#include <fmt/format.h>

#include <utility>

#include "synps/conversion.h"
#include "synps/policy.h"

namespace synps {

void WeightProblems::add(Problem problem, std::string_view path) {
  const std::string key =
      fmt::format("{}:{}:{}\n{}\n{}\n{}\n{}", problem.file, problem.line, problem.column,
                  problem.what, problem.field, problem.found, problem.hint);
  Same& same = problems_[key];
  if (same.count++ != 0) return;
  same.problem = std::move(problem);
  same.example = path;
}

void WeightProblems::move_to(std::vector<Problem>& problems) {
  for (auto& [key, same] : problems_) {
    same.problem.what += ": ";
    same.problem.what += affected_weights(same.count, same.example);
    problems.push_back(std::move(same.problem));
  }
  problems_.clear();
}

Problem would_change(const CodecInfo& source, const CodecInfo& target, bool folds_scale) {
  Problem problem = would_round(source, target);
  if (folds_scale) problem.found += ", and multiply by its scale";
  return problem;
}

void add_roundings(const Plan& plan, const Policy& policy, std::vector<Problem>& problems) {
  WeightProblems found;
  for (const PlannedWeight& planned : plan.weights) {
    if (planned.copied || planned.lossless) continue;
    Problem problem = would_change(planned.source_codec->info(), planned.codec->info(),
                                   planned.scale.has_value());
    problem.file = policy.file_of(planned.policy_place);
    problem.line = planned.policy_place.line;
    problem.column = planned.policy_place.column;
    found.add(std::move(problem), plan.stored(planned).weight.path);
  }
  found.move_to(problems);
}

}  // namespace synps
