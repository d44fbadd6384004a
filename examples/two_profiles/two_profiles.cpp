// Runs one model under several profiles: the forms of the weights in memory differ, what they
// compute does not. Links nothing but synps::runtime.
//
//   synps pack examples/tiny-llama -p examples/two_profiles/synps.toml -o tiny.synps
//   two_profiles tiny.synps [PROFILE...]

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "synps/artifact.h"
#include "synps/error.h"
#include "synps/executor.h"
#include "synps/profile.h"
#include "tiny_llama.h"

namespace {

void print_forms(const synps::Artifact& model) {
  std::map<std::string, std::pair<unsigned, std::uint64_t>> forms;
  for (const synps::WeightView weight : model) {
    const synps::FormDecision& decision = weight.decision();
    std::string form = decision.dequantizes ? "f32" : weight.stored().codec.id();
    for (const std::string_view word :
         {synps::to_string(decision.form.order), synps::to_string(decision.form.residency)})
      form += " " + std::string(word);
    if (decision.converts()) form += ", converted";
    auto& [count, bytes] = forms[form];
    ++count;
    bytes += weight.memory().resident + weight.memory().mapped;
  }
  for (const auto& [form, sums] : forms)
    std::printf("  %-34s %3u weights %9" PRIu64 " bytes\n", form.c_str(), sums.first, sums.second);
}

std::vector<float> run(const std::string& path, const synps::Profile& profile,
                       synps::Executor& executor) {
  synps::OpenOptions options;
  options.profile = profile;
  const synps::Artifact model = synps::Artifact::open(path, options);
  const synps::WeightMemory& total = model.plan().total;
  std::printf("%s: %" PRIu64 " bytes on the heap, %" PRIu64 " mapped\n", profile.name.c_str(),
              total.resident, total.mapped);
  print_forms(model);
  example::TinyLlama llama(model, &executor);
  std::vector<float> logits;
  for (const std::size_t token : {1, 17, 300, 42}) logits = llama.next(token);
  model.end_invocation();
  const auto best = std::max_element(logits.begin(), logits.end());
  std::printf("  next token %td, logit %.9g\n", best - logits.begin(), static_cast<double>(*best));
  return logits;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: two_profiles ARTIFACT [PROFILE...]\n");
    return 2;
  }
  std::vector<std::string> names(argv + 2, argv + argc);
  if (names.empty()) names = {"desktop", "mobile_2gb"};
  try {
    synps::ThreadPool pool;
    std::vector<std::vector<float>> logits;
    for (const std::string& name : names) {
      const auto profile = synps::builtin_profile(name);
      if (!profile) {
        std::fprintf(stderr, "two_profiles: no profile '%s'\n", name.c_str());
        return 2;
      }
      logits.push_back(run(argv[1], *profile, pool));
    }
    const bool same = std::all_of(logits.begin(), logits.end(),
                                  [&](const auto& each) { return each == logits.front(); });
    std::printf("logits are %s\n", same ? "the same, to the bit" : "NOT the same");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const synps::Error& error) {
    std::fprintf(stderr, "two_profiles: error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
