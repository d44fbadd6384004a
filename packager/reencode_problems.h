#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec.h"
#include "synps/error.h"
#include "synps/plan.h"

namespace synps {

/// Problems of weights. Those that are the same for many are told once, with their number and an
/// example, as a policy's are.
class WeightProblems {
 public:
  /// `problem` does not name the weight.
  void add(Problem problem, std::string_view path);
  /// Puts them behind those of `problems`, by what they say.
  void move_to(std::vector<Problem>& problems);

 private:
  struct Same {
    Problem problem;
    std::size_t count = 0;
    std::string example;
  };
  std::map<std::string, Same> problems_;
};

/// The refusal of an encoding that may change values, where none may be changed.
Problem would_change(const CodecInfo& source, const CodecInfo& target, bool folds_scale);

/// Adds problems of all weights of the plan whose values may be changed, where the policy has their
/// schemes.
void add_roundings(const Plan& plan, const Policy& policy, std::vector<Problem>& problems);

}  // namespace synps
