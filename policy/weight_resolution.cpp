#include "weight_resolution.h"

#include <utility>

#include <fmt/format.h>

#include "policy_relations.h"
#include "resolution_report.h"
#include "scale_policies.h"
#include "weight_judge.h"

namespace synps {
namespace {

std::vector<std::string_view> paths_of(const std::vector<WeightFacts>& weights) {
  std::vector<std::string_view> paths;
  paths.reserve(weights.size());
  for (const WeightFacts& facts : weights) paths.push_back(facts.weight.path);
  return paths;
}

}  // namespace

// The policies that cover `path`, of which there may not be too many.
PolicySet covering_policies(const PolicyDocument& document, CoverageWalk& walk,
                            std::string_view path, StepBudget& budget) {
  PolicySet covering = walk.covering(path, budget);
  if (covering.size() <= kMaxCovering) return covering;
  ProblemList problems(document.files);
  problems.add(document.entries[covering[kMaxCovering]].place,
               {.what = fmt::format("too many policies cover one path: {}", quote(path)),
                .found = fmt::format("{} policies", covering.size()),
                .want = fmt::format("at most {}", kMaxCovering),
                .hint = "write one policy for what many say alike, or narrower patterns"},
               ErrorCode::limit);
  problems.throw_all();
}

Resolution resolve_weights(const PolicyDocument& document, const PolicyCoverage& coverage,
                           const std::vector<WeightFacts>& weights, const ResolveOptions& options,
                           ProblemList& problems) {
  StepBudget budget(document.files.front());
  PolicyRelations relations(document.entries, budget);
  PolicyResolver resolver(document, relations, options.compress);
  ResolutionReport report(document);
  // Thousands of weights share a few sets of policies: each set is resolved once.
  Resolution result;
  std::vector<bool> matched(document.entries.size(), false);
  result.weights.resize(weights.size());
  CoverageWalk walk(coverage);
  auto it = result.sets.end();  // of the weight before, which most often has the same
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Weight& weight = weights[i].weight;
    PolicySet covering = covering_policies(document, walk, weight.path, budget);
    if (it == result.sets.end() || it->first != covering) it = result.sets.find(covering);
    if (it == result.sets.end()) {
      for (const std::uint32_t number : covering) matched[number] = true;
      SetUse use{resolver.resolve(covering)};
      it = result.sets.emplace(std::move(covering), std::move(use)).first;
    }
    SetUse& use = it->second;
    const bool is_float = weights[i].needs_scheme();
    (weights[i].scale_of.empty() ? use.by_weights : use.by_scales) = true;
    use.by_floats = use.by_floats || is_float;
    use.by_faulty = use.by_faulty || weights[i].only_kept;
    for (const Ambiguity& ambiguity : use.resolution.ambiguities)
      if (concerns(ambiguity.key, is_float)) report.add(ambiguity, weight.path);
    const auto fault = judge(weights[i], use.resolution, document, {options.output, options.target},
                             result.weights[i]);
    if (fault) report.add(*fault, weight.path);
  }
  if (!options.allow_unmatched)
    ResolutionReport::add_unmatched(document.entries, matched, paths_of(weights), problems);
  report.finish(relations, problems);
  add_policies_of_scales(document, weights, result, problems);
  try {
    result.groups = group_sets(document, weights);
    judge_groups(document, weights, result.groups, result.weights, options, problems);
  } catch (const Error& error) {
    problems.add_all(error);
  }
  return result;
}

void add_unmatched_policies(const PolicyDocument& document, const PolicyCoverage& coverage,
                            const std::vector<WeightFacts>& weights, ProblemList& problems) {
  StepBudget budget(document.files.front());
  std::vector<bool> matched(document.entries.size(), false);
  CoverageWalk walk(coverage);
  for (const WeightFacts& facts : weights)
    for (const std::uint32_t number : walk.covering(facts.weight.path, budget))
      matched[number] = true;
  ResolutionReport::add_unmatched(document.entries, matched, paths_of(weights), problems);
}

}  // namespace synps
