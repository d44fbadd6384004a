#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/gguf_plan.h"
#include "synps/policy.h"

namespace synps {

/// Gathers what policies say that a GGUF file has no place for, and no byte depends on.
class NotCarriedList {
 public:
  void add(const Weight& weight, const WeightResolution& resolution);
  /// Schemes of values that are not constants.
  void add(const std::vector<ValueScheme>& values);
  std::vector<NotCarried> take();

 private:
  void count(std::string key, std::string value, const std::string& example);

  std::map<std::pair<std::string, std::string>, NotCarried> all_;  ///< by key and value
};

}  // namespace synps
