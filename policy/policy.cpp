#include "synps/policy.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policy_impl.h"
#include "policy_relations.h"
#include "policy_resolver.h"
#include "policy_sources.h"
#include "problem_list.h"
#include "resolution_report.h"
#include "scheme_rules.h"
#include "value_policies.h"
#include "weight_judge.h"
#include "weight_resolution.h"

namespace synps {

namespace {

// Values that are not weights have a format, and are computed somewhere; fallback and form speak of
// stored weights.
bool concerns_values(std::string_view key) noexcept {
  return key == "format" || key == "dtype" || key == "backend.device";
}

bool concerns(std::string_view key, const ExplainRequest& request) noexcept {
  if (request.scope != Scope::constant) return concerns_values(key);
  return request.facts == nullptr || synps::concerns(key, request.facts->needs_scheme());
}

}  // namespace

bool PolicyEntry::has_constant_scheme() const noexcept {
  return std::any_of(schemes.begin(), schemes.end(),
                     [](const PolicyScheme& each) { return claims_weights(each.scheme); });
}

Policy::Policy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

Policy Policy::parse(std::string text, std::string file, const CodecRegistry& codecs,
                     const PolicyOptions& options) {
  ParsedPolicy parsed = parse_policy(std::move(text), file, codecs, options);
  if (!parsed.problems.empty()) throw Error(std::move(parsed.problems));
  return Policy(std::make_unique<Impl>(std::move(parsed.document)));
}

Policy Policy::load(const std::string& path, const CodecRegistry& codecs,
                    const PolicyOptions& options) {
  Os& os = options.os != nullptr ? *options.os : Os::posix();
  return parse(read_policy_text(path, os), path, codecs, options);
}

const std::string& Policy::file() const noexcept {
  return impl_->document.files.front();
}
const std::vector<std::string>& Policy::files() const noexcept {
  return impl_->document.files;
}
const std::vector<PolicyEntry>& Policy::entries() const noexcept {
  return impl_->document.entries;
}
const std::vector<PolicyGroup>& Policy::groups() const noexcept {
  return impl_->document.groups;
}
const std::vector<PolicyPackage>& Policy::packages() const noexcept {
  return impl_->document.packages;
}
const std::vector<PolicyProfile>& Policy::profiles() const noexcept {
  return impl_->document.profiles;
}
std::optional<Profile> Policy::profile(std::string_view name) const {
  for (const PolicyProfile& own : profiles())
    if (own.profile.name == name) return own.profile;
  return builtin_profile(name);
}
std::optional<PolicyDevice> Policy::device(std::string_view name) const {
  const auto at = impl_->document.devices.find(name);
  if (at != impl_->document.devices.end())
    return PolicyDevice{at->first, at->second.target, profile(at->second.profile),
                        at->second.place};
  if (name == "local") return PolicyDevice{"local"};
  return std::nullopt;
}
std::vector<PolicyDevice> Policy::devices() const {
  std::vector<PolicyDevice> found;
  for (const auto& [name, entry] : impl_->document.devices) found.push_back(*device(name));
  return found;
}
const std::vector<std::string>& Policy::source_formats() const noexcept {
  return impl_->document.source_formats;
}
bool Policy::declares(std::string_view encoding) const noexcept {
  return impl_->document.declared.find(encoding) != impl_->document.declared.end();
}
const CodecRegistry& Policy::codecs() const noexcept {
  return *impl_->document.codecs;
}

std::vector<WeightResolution> Policy::resolve(const std::vector<WeightFacts>& weights,
                                              const ResolveOptions& options) const {
  std::vector<Problem> problems;
  std::vector<WeightResolution> resolutions = resolve(weights, options, problems);
  if (!problems.empty()) throw Error(std::move(problems));
  return resolutions;
}

std::vector<WeightResolution> Policy::resolve(const std::vector<WeightFacts>& weights,
                                              const ResolveOptions& options,
                                              std::vector<Problem>& problems) const {
  ProblemList found(impl_->document.files);
  Resolution resolution =
      resolve_weights(impl_->document, impl_->coverage, weights, options, found);
  for (Problem& problem : found.take()) problems.push_back(std::move(problem));
  return std::move(resolution.weights);
}

WeightResolution Policy::explain(std::string_view path, const ExplainRequest& request) const {
  const PolicyDocument& document = impl_->document;
  const ValueClass value{request.scope, request.lifetime};
  StepBudget budget(document.files.front());
  PolicyRelations relations(document.entries, budget);
  PolicyResolver resolver(document, relations, request.compress, value);
  CoverageWalk walk(impl_->coverage);
  const SetResolution set = resolver.resolve(covering_policies(document, walk, path, budget));
  ResolutionReport report(document, value);
  for (const Ambiguity& ambiguity : set.ambiguities)
    if (concerns(ambiguity.key, request)) report.add(ambiguity, path);
  ProblemList problems(document.files);
  report.finish(relations, problems);
  problems.throw_if_any();
  WeightResolution result;
  if (request.facts == nullptr) {
    assume(set, document, request.output, result);
  } else if (const auto fault =
                 judge(*request.facts, set, document, {request.output, request.target}, result)) {
    ProblemList found(document.files);
    found.add(fault->place, fault->problem);
    result.warning = to_string(found.take().front());
  }
  const bool undecided =
      std::any_of(set.ambiguities.begin(), set.ambiguities.end(),
                  [](const Ambiguity& ambiguity) { return ambiguity.key == "format"; });
  if (!undecided) result.schemes = resolver.verdicts(set);
  if (request.scope == Scope::constant) return result;
  std::vector<KeyDecision> decisions;
  std::copy_if(result.decisions.begin(), result.decisions.end(), std::back_inserter(decisions),
               [](const KeyDecision& each) { return concerns_values(each.key); });
  result.decisions = SharedList(std::move(decisions));
  return result;
}

std::vector<PolicyValueScheme> Policy::value_schemes() const {
  return ordered_value_schemes(impl_->document);
}

}  // namespace synps
