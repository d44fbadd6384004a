#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace synps::cli {

/// Options of the commands that compare values.
struct CompareOptions {
  std::string report;
  bool force = false;
  std::vector<std::string> packages;
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;
  bool all = false;
  bool json = false;
};

void add_compare_options(CLI::App& command, CompareOptions& options);

}  // namespace synps::cli
