#include "synps/policy.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "policy_coverage.h"
#include "policy_document.h"
#include "policy_relations.h"
#include "policy_resolver.h"
#include "problem_list.h"
#include "resolution_report.h"
#include "scheme_rules.h"
#include "synps/file.h"
#include "toml_guard.h"
#include "weight_judge.h"

namespace synps {
namespace {

std::string read_text(const std::string& path, Os& os) {
  const InputFile file(os, path, ErrorCode::policy);
  if (file.size() > kMaxPolicyBytes) {
    ProblemList problems(path);
    problems.add({},
                 {.what = "the policy file is too large",
                  .found = fmt::format("{} bytes", file.size()),
                  .want = fmt::format("at most {} bytes", kMaxPolicyBytes)},
                 ErrorCode::limit);
    problems.throw_all();
  }
  const std::vector<std::byte> bytes = file.read_all();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The policies that cover `path`, of which there may not be too many.
PolicySet covering_policies(const PolicyDocument& document, const PolicyCoverage& coverage,
                            std::string_view path, StepBudget& budget) {
  PolicySet covering = coverage.covering(path, budget);
  if (covering.size() <= kMaxCovering) return covering;
  ProblemList problems(document.file);
  problems.add(document.entries[covering[kMaxCovering]].place,
               {.what = fmt::format("too many policies cover one path: {}", quote(path)),
                .found = fmt::format("{} policies", covering.size()),
                .want = fmt::format("at most {}", kMaxCovering),
                .hint = "write one policy for what many say alike, or narrower patterns"},
               ErrorCode::limit);
  problems.throw_all();
}

}  // namespace

bool PolicyEntry::has_constant_scheme() const noexcept {
  return std::any_of(schemes.begin(), schemes.end(),
                     [](const PolicyScheme& each) { return claims_weights(each.scheme); });
}

struct Policy::Impl {
  Impl(PolicyDocument read, const CodecRegistry& registry)
      : document(std::move(read)), codecs(&registry), coverage(document.entries) {}

  const PolicyDocument document;
  const CodecRegistry* codecs;
  const PolicyCoverage coverage;  // refers to document
};

Policy::Policy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

Policy Policy::parse(std::string text, std::string file, const CodecRegistry& codecs) {
  return Policy(std::make_unique<Impl>(parse_policy(text, file, codecs), codecs));
}

Policy Policy::load(const std::string& path, const CodecRegistry& codecs, Os& os) {
  return parse(read_text(path, os), path, codecs);
}

const std::string& Policy::file() const noexcept {
  return impl_->document.file;
}
const std::vector<PolicyEntry>& Policy::entries() const noexcept {
  return impl_->document.entries;
}
const std::vector<std::string>& Policy::source_formats() const noexcept {
  return impl_->document.source_formats;
}
const CodecRegistry& Policy::codecs() const noexcept {
  return *impl_->codecs;
}

std::vector<WeightResolution> Policy::resolve(const std::vector<WeightFacts>& weights,
                                              const ResolveOptions& options) const {
  const PolicyDocument& document = impl_->document;
  StepBudget budget(document.file);
  PolicyRelations relations(document.entries, budget);
  PolicyResolver resolver(document, relations);
  ResolutionReport report(document.entries, *impl_->codecs);
  // Thousands of weights share a few sets of policies: each set is resolved once.
  std::map<PolicySet, SetResolution> sets;
  std::vector<bool> matched(document.entries.size(), false);
  std::vector<std::string_view> paths;
  std::vector<WeightResolution> resolved(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Weight& weight = weights[i].weight;
    paths.push_back(weight.path);
    PolicySet covering = covering_policies(document, impl_->coverage, weight.path, budget);
    for (const std::uint32_t number : covering) matched[number] = true;
    auto it = sets.find(covering);
    if (it == sets.end()) {
      SetResolution set = resolver.resolve(covering);
      it = sets.emplace(std::move(covering), std::move(set)).first;
    }
    for (const Ambiguity& ambiguity : it->second.ambiguities)
      if (concerns(ambiguity.key, dtype_is_float(weight.dtype))) report.add(ambiguity, weight.path);
    const auto fault = judge(weights[i], it->second, document, *impl_->codecs, resolved[i]);
    if (fault) report.add(*fault, weight.path);
  }
  ProblemList problems(document.file);
  if (!options.allow_unmatched)
    ResolutionReport::add_unmatched(document.entries, matched, paths, problems);
  report.finish(relations, problems);
  problems.throw_if_any();
  return resolved;
}

WeightResolution Policy::explain(std::string_view path, const WeightFacts* facts) const {
  const PolicyDocument& document = impl_->document;
  StepBudget budget(document.file);
  PolicyRelations relations(document.entries, budget);
  const SetResolution set =
      PolicyResolver(document, relations)
          .resolve(covering_policies(document, impl_->coverage, path, budget));
  ResolutionReport report(document.entries, *impl_->codecs);
  for (const Ambiguity& ambiguity : set.ambiguities)
    if (facts == nullptr || concerns(ambiguity.key, dtype_is_float(facts->weight.dtype)))
      report.add(ambiguity, path);
  ProblemList problems(document.file);
  report.finish(relations, problems);
  problems.throw_if_any();
  WeightResolution result;
  if (facts == nullptr) {
    assume(set, *impl_->codecs, result);
  } else if (const auto fault = judge(*facts, set, document, *impl_->codecs, result)) {
    Problem problem = fault->problem;
    problem.file = document.file;
    problem.line = fault->place.line;
    problem.column = fault->place.column;
    result.warning = to_string(problem);
  }
  return result;
}

}  // namespace synps
