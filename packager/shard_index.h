#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "synps/error.h"
#include "synps/file.h"

namespace synps {

/// A `*.safetensors.index.json`: which file holds which tensor.
struct ShardIndex {
  struct Tensor {
    std::string name;
    std::size_t shard = 0;  ///< index into `shards`
  };
  std::vector<std::string> shards;  ///< distinct file names, by their bytes
  std::vector<Tensor> tensors;      ///< by the bytes of the name
};

/// The problems of one index, in the order found. Past a limit they are only counted, so that a
/// list of a million wrong names stays readable.
class ShardIndexProblems {
 public:
  explicit ShardIndexProblems(std::string file) : file_(std::move(file)) {}

  bool empty() const noexcept { return problems_.empty(); }
  void add(Problem problem) {
    add([&] { return std::move(problem); });
  }
  void add(const Error& error) {
    for (const Problem& problem : error.problems()) add(problem);
  }
  /// make() gives the problem, and is called only for one that will be told.
  template <std::invocable Make>
  void add(Make&& make) {
    if (problems_.size() < kMaxTold)
      problems_.push_back(make());
    else
      ++untold_;
  }
  /// Throws one Error with all problems, when there are any.
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMaxTold = 50;

  std::string file_;
  std::vector<Problem> problems_;
  std::uint64_t untold_ = 0;
};

/// Parses an index. `metadata` is checked to be an object and otherwise ignored, other keys are
/// ignored. Duplicate tensors and shard names that are not plain file names go to `problems`, and
/// are left out of the result. Throws Error(checkpoint) for text that is no such index.
ShardIndex parse_shard_index(std::string_view json, const std::string& file,
                             ShardIndexProblems& problems);

/// The same for a file. Throws also Error(io), and Error(limit) for a file over 100,000,000 bytes.
ShardIndex read_shard_index(const InputFile& file, ShardIndexProblems& problems);

}  // namespace synps
