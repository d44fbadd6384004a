// synps.toml: reading it, and what it says about some weights.

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "fuzz_support.h"
#include "synps/builtin_codecs.h"
#include "synps/policy.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::vector<WeightFacts> some_weights() {
  return {{{"model.layers.0.mlp.down_proj.weight", Shape{8, 64}, DType::bf16}, "bf16"},
          {{"model.layers.1.mlp.down_proj.weight", Shape{8, 60}, DType::f32}, "f32"},
          {{"model.norm.weight", Shape{64}, DType::f32}, "f32"},
          {{"ids", Shape{1, 4}, DType::i64}, "i64"},
          {{"a", Shape{}, DType::f16}, "f16"},
          {{"", Shape{0}, DType::f64}, "f64"}};
}

void resolve(const Policy& policy) {
  static const std::vector<WeightFacts> weights = some_weights();
  const std::vector<WeightResolution> resolved = policy.resolve(weights, {.allow_unmatched = true});
  require(resolved.size() == weights.size(), "every weight is resolved");
  for (const WeightResolution& resolution : resolved)
    require(resolution.keep == (resolution.codec == nullptr), "a codec, or kept");
}

/// Extending a file finds none, and no package is loaded: what a text says is all there is.
class NoFiles : public Os {
 public:
  int open(const std::string&, Open) override { return -ENOENT; }
};

PolicyOptions text_only() {
  static NoFiles no_files;
  PolicyOptions options;
  options.os = &no_files;
  options.load_package = [](const std::string&,
                            const std::string& path) -> std::vector<std::shared_ptr<const Codec>> {
    throw Error(Problem{.code = ErrorCode::package, .file = path, .what = "no packages here"});
  };
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  try {
    resolve(Policy::parse(std::string(text), "fuzz", builtin_registry(), text_only()));
  } catch (const Error& error) {
    std::vector<Problem> problems;
    for (const Problem& problem : error.problems())
      if (problem.code != ErrorCode::package) problems.push_back(problem);
    if (!problems.empty()) require_useful(Error(problems), "fuzz", ErrorCode::policy);
  }
  return 0;
}
