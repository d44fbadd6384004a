#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "check_output.h"

namespace synps::cli {

int CheckReport::code() const noexcept {
  if (!check->problems.empty()) return static_cast<int>(check->problems.front().code);
  const bool refused = strict && !check->warnings.empty();
  return refused ? static_cast<int>(ErrorCode::policy) : 0;
}

namespace {

/// By weight, whether it is the scale of one that is decoded, and so no weight of the output.
std::vector<bool> folded_scales(const std::vector<WeightFacts>& weights, const PolicyCheck& check) {
  std::unordered_map<std::string_view, std::size_t> by_path;
  for (std::size_t i = 0; i < weights.size(); ++i) by_path.emplace(weights[i].weight.path, i);
  std::vector<bool> folded(weights.size(), false);
  for (std::size_t i = 0; i < check.resolutions.size(); ++i) {
    const auto weight = by_path.find(weights[i].scale_of);
    folded[i] = !weights[i].scale_of.empty() && weight != by_path.end() &&
                !check.resolutions[weight->second].keep;
  }
  return folded;
}

}  // namespace

std::uint64_t stored_weights(const std::vector<WeightFacts>& weights, const PolicyCheck& check) {
  const std::vector<bool> folded = folded_scales(weights, check);
  return static_cast<std::uint64_t>(std::count(folded.begin(), folded.end(), false));
}

std::vector<SourceEncoding> source_encodings(const std::vector<WeightFacts>& weights,
                                             const PolicyCheck& check) {
  using enum SourceEncoding::Naming;
  std::map<std::string, SourceEncoding> encodings;
  const std::vector<bool> folded = folded_scales(weights, check);
  for (std::size_t i = 0; i < check.resolutions.size(); ++i) {
    const WeightFacts& facts = weights[i];
    if (folded[i]) continue;  // read with its weight, whatever the policy names
    SourceEncoding& encoding = encodings[facts.encoding];
    encoding.name = facts.encoding;
    encoding.weights += 1;
    const WeightResolution& resolution = check.resolutions[i];
    if (resolution.keep) continue;
    if (source_codec(check.policy->codecs(), facts) == nullptr) {
      encoding.naming = undecodable;
    } else if (resolution.codec == nullptr) {
      if (encoding.naming == not_needed) encoding.naming = open;
    } else {
      encoding.naming = check.policy->declares(facts.encoding) ? named : missing;
    }
  }
  std::vector<SourceEncoding> out;
  for (auto& [name, encoding] : encodings) out.push_back(std::move(encoding));
  return out;
}

std::vector<FallbackGroup> fallback_groups(const std::vector<WeightFacts>& weights,
                                           const PolicyCheck& check) {
  std::map<std::tuple<std::string, std::string, std::uint64_t>, FallbackGroup> groups;
  for (std::size_t i = 0; i < check.resolutions.size(); ++i) {
    const WeightResolution& resolution = check.resolutions[i];
    const bool stored = resolution.keep || resolution.codec != nullptr;
    if (!resolution.used_fallback || !resolution.scheme || !stored) continue;
    const std::string used =
        resolution.keep ? CodecRef::keep().id() : resolution.codec->info().id();
    const Weight& weight = weights[i].weight;
    FallbackGroup& group = groups[{resolution.scheme->format, used, weight.shape.columns()}];
    if (group.paths.empty()) group.reason = resolution.fallback_reason;
    group.wanted = resolution.scheme->format;
    group.used = used;
    group.columns = weight.shape.columns();
    group.paths.push_back(weight.path);
  }
  std::vector<FallbackGroup> out;
  for (auto& entry : groups) out.push_back(std::move(entry.second));
  return out;
}

}  // namespace synps::cli
