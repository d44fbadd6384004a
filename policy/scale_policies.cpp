#include "scale_policies.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "format_names.h"
#include "resolution_report.h"
#include "scheme_rules.h"
#include "toml_text.h"

namespace synps {
namespace {

// Policies, by number, that cover scales and no other weight.
std::vector<std::uint32_t> of_scales_only(const PolicyDocument& document,
                                          const Resolution& resolution) {
  std::vector<bool> scales(document.entries.size(), false);
  std::vector<bool> weights(document.entries.size(), false);
  for (const auto& [covering, use] : resolution.sets)
    for (const std::uint32_t number : covering) {
      if (use.by_scales) scales[number] = true;
      if (use.by_weights) weights[number] = true;
    }
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < document.entries.size(); ++i) {
    const PolicyEntry& entry = document.entries[i];
    if (scales[i] && !weights[i] && !entry.is_inherited() && speaks_of_weights(entry))
      numbers.push_back(i);
  }
  return numbers;
}

bool keeps(const PolicyEntry& entry) {
  const PolicyScheme* scheme = claiming_scheme(entry.schemes, kWeights);
  return scheme == nullptr || scheme->scheme.format == kKeep;
}

class ScalePolicies {
 public:
  ScalePolicies(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                const Resolution& resolution)
      : document_(document), weights_(weights), resolution_(resolution) {
    for (std::size_t i = 0; i < weights.size(); ++i) by_path_[weights[i].weight.path] = i;
  }

  // The first scale whose weight does not go by what the policy says of it; null: none.
  const WeightFacts* contradicted(const PolicyEntry& entry) const {
    StepBudget budget(document_.files.front());
    for (const WeightFacts& facts : weights_) {
      if (facts.scale_of.empty() || !entry.pattern.covers(facts.weight.path, budget.left()))
        continue;
      const auto weight = by_path_.find(facts.scale_of);
      const bool kept = weight != by_path_.end() && resolution_.weights[weight->second].keep;
      if (!kept || !keeps(entry)) return &facts;
    }
    return nullptr;
  }

 private:
  const PolicyDocument& document_;
  const std::vector<WeightFacts>& weights_;
  const Resolution& resolution_;
  std::unordered_map<std::string_view, std::size_t> by_path_;
};

}  // namespace

void add_policies_of_scales(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                            const Resolution& resolution, ProblemList& problems) {
  const std::vector<std::uint32_t> numbers = of_scales_only(document, resolution);
  if (numbers.empty()) return;
  const ScalePolicies policies(document, weights, resolution);
  for (const std::uint32_t number : numbers) {
    const PolicyEntry& entry = document.entries[number];
    const WeightFacts* scale = policies.contradicted(entry);
    if (scale == nullptr) continue;
    Problem problem{.what = "the pattern matches only scales, which go with their weights"};
    problem.field = fmt::format("policies.{}", toml_key_for_display(entry.pattern.text()));
    problem.found =
        fmt::format("{}, the scale of {}", quote(scale->weight.path), quote(scale->scale_of));
    problem.hint = fmt::format(
        "say it of the weight, [[policies.{}.schemes]]: decoding it folds the scale in, and "
        "\"keep\" "
        "keeps both",
        toml_key_for_display(PathPattern::literal(scale->scale_of)));
    problems.add(entry.place, std::move(problem));
  }
}

}  // namespace synps
