#include "group_judge.h"
#include "policy_impl.h"
#include "policy_sources.h"
#include "policy_warnings.h"
#include "synps/policy.h"
#include "weight_resolution.h"

namespace synps {

PolicyCheck PolicyCheck::run(const std::string& path, const CodecRegistry& codecs,
                             const std::vector<WeightFacts>* weights,
                             const ResolveOptions& resolve_options, const PolicyOptions& options) {
  Os& os = options.os != nullptr ? *options.os : Os::posix();
  std::string text = read_policy_text(path, os);
  PolicyCheck check;
  ParsedPolicy parsed;
  try {
    parsed = parse_policy(std::move(text), path, codecs, options);
  } catch (const Error& error) {
    check.problems = error.problems();
    return check;
  }
  auto impl = std::make_unique<Policy::Impl>(std::move(parsed.document));
  const PolicyDocument& document = impl->document;
  ProblemList problems(document.files);
  ProblemList warnings(document.files);
  const bool sound = parsed.problems.empty();
  try {
    if (!sound) {
      // Who would decide is open while something is wrong; who matches nothing is not.
      if (weights != nullptr && !resolve_options.allow_unmatched)
        add_unmatched_policies(document, impl->coverage, *weights, problems);
    } else if (weights == nullptr) {
      warn_of_empty_policies(document, warnings);
      warn_of_unused_names(document, warnings);
      warn_of_covered_keys(document, warnings);
    } else {
      Resolution resolution =
          resolve_weights(document, impl->coverage, *weights, resolve_options, problems);
      warn_of_empty_policies(document, warnings);
      warn_of_remote_values(document, *weights, warnings);
      warn_of_unused_names(document, warnings);
      warn_of_unused_formats(document, *weights, warnings);
      warn_of_useless_keys(document, resolution, warnings);
      warn_of_unmatched_policies(document, resolution, warnings);
      if (!resolution.groups.empty()) warn_of_lone_members(document, resolution.groups, warnings);
      warn_of_weights(*weights, resolution.weights, warnings);
      check.resolutions = std::move(resolution.weights);
    }
  } catch (const Error& error) {
    problems.add_all(error);
  }
  check.problems = std::move(parsed.problems);
  for (Problem& problem : problems.take()) check.problems.push_back(std::move(problem));
  check.warnings = warnings.take();
  if (sound) check.policy = Policy(std::move(impl));
  return check;
}

}  // namespace synps
