#pragma once

#include <vector>

#include "synps/error.h"

namespace synps::testing {

/// The problems of the Error that `call` throws; none when it returns. Other exceptions pass.
template <typename Call>
std::vector<Problem> thrown_problems(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.problems();
  }
  return {};
}

/// The first of them, or one whose `what` says that nothing was thrown.
template <typename Call>
Problem thrown_problem(Call&& call) {
  const std::vector<Problem> problems = thrown_problems(call);
  if (!problems.empty()) return problems.front();
  Problem none;
  none.what = "(nothing was thrown)";
  return none;
}

}  // namespace synps::testing
