#include "why_not_cure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "group_closure.h"
#include "synps/error.h"
#include "synps/plan.h"
#include "text.h"
#include "why_not_trial.h"

namespace synps::cli {
namespace {

/// Schemes that a person would paste.
constexpr std::size_t kMaxSchemes = 64;
/// Of them, those that only leave weights as they are.
constexpr std::size_t kMaxRestored = 16;
/// A scheme that leaves a weight as it is may reach others below it.
constexpr int kMaxRounds = 4;

/// What one way of writing the schemes comes to.
struct Attempt {
  bool too_many = false;
  Paste paste;
  Trial trial;
  bool reached = false;
  std::vector<std::string> restored;  ///< paths that got a scheme that leaves them as they are
  std::vector<std::string> changed;   ///< paths that get another scheme, and should not

  bool works() const { return trial.policy && reached && trial.problems.empty(); }
};

class CureFinder {
 public:
  CureFinder(const Explanation& explanation, const std::string& format,
             const Checkpoint* checkpoint, const PolicyInput& input, std::string declaration)
      : explanation_(explanation),
        policy_(*explanation.policy),
        format_(format),
        checkpoint_(checkpoint),
        input_(input),
        declaration_(std::move(declaration)) {
    if (checkpoint != nullptr) weights_ = weight_facts(*checkpoint);
    while (asked_ < weights_.size() && weights_[asked_].weight.path != explanation.value.path)
      ++asked_;
  }

  Cure find(bool schemes);

 private:
  const WeightResolution* now(std::size_t weight);
  bool is_stored_by_scheme(std::size_t weight);
  void collect_members();
  bool decides_only_members(const PolicyEntry& entry);
  bool is_member(std::size_t weight) const {
    return std::binary_search(members_.begin(), members_.end(), weight);
  }
  Attempt attempt(bool folded);
  std::vector<std::size_t> changed_by(const Policy& policy, const std::vector<PathPattern>& added);
  void look_at(Attempt& attempt) const;
  Cure as_cure(Attempt attempt) const;
  void say_what_is_wrong(const Attempt& attempt, Cure& cure) const;

  const Explanation& explanation_;
  const Policy& policy_;
  const std::string& format_;
  const Checkpoint* checkpoint_;
  const PolicyInput& input_;
  const std::string declaration_;
  std::vector<WeightFacts> weights_;
  std::size_t asked_ = 0;             ///< of them, the weight in question
  std::vector<std::size_t> members_;  ///< of the checkpoint's weights, what is to change
  std::vector<Target> targets_;
  std::map<std::size_t, std::optional<WeightResolution>> now_;
  std::map<const PolicyEntry*, bool> only_members_;
};

/// What the policy says of a weight now; null where policies disagree about it.
const WeightResolution* CureFinder::now(std::size_t weight) {
  auto found = now_.find(weight);
  if (found == now_.end()) {
    found = now_.emplace(weight, std::nullopt).first;
    try {
      ExplainRequest request;
      request.facts = &weights_[weight];
      found->second = policy_.explain(weights_[weight].weight.path, request);
    } catch (const Error&) {
      // That is the policy's fault as it is.
    }
  }
  return found->second ? &*found->second : nullptr;
}

/// Weights that are not floats, or have no elements, are kept whatever their scheme says.
bool CureFinder::is_stored_by_scheme(std::size_t weight) {
  if (weights_[weight].weight.shape.elements() == 0) return false;
  const WeightResolution* resolution = now(weight);
  return resolution == nullptr || resolution->needs_scheme;
}

void CureFinder::collect_members() {
  if (checkpoint_ == nullptr) {
    targets_.push_back({explanation_.value, explanation_.resolution, format_});
    return;
  }
  for (const std::size_t i : format_closure(policy_, *checkpoint_, explanation_.value.path)) {
    if (!is_stored_by_scheme(i)) continue;
    const WeightResolution* resolution = now(i);
    if (resolution == nullptr) continue;  // what is pasted is tried, and says so
    if (i != asked_ &&
        is_stored_as(explain_weight(policy_, *checkpoint_, checkpoint_->tensors()[i]), format_))
      continue;
    members_.push_back(i);
    targets_.push_back({{weights_[i].weight.path}, *resolution, format_});
  }
}

/// Such a policy would have nothing left to say if a narrower one took its weights. The root is for
/// whatever else there may be.
bool CureFinder::decides_only_members(const PolicyEntry& entry) {
  if (checkpoint_ == nullptr || entry.pattern.text() == "*" || entry.pattern.text() == "**")
    return false;
  const auto known = only_members_.find(&entry);
  if (known != only_members_.end()) return known->second;
  bool& only = only_members_[&entry];
  only = true;
  for (std::size_t i = 0; i < weights_.size() && only; ++i) {
    if (is_member(i) || !entry.pattern.covers(weights_[i].weight.path)) continue;
    const WeightResolution* resolution = now(i);
    if (resolution == nullptr) only = false;
    if (resolution == nullptr || !is_stored_by_scheme(i)) continue;
    for (const KeyDecision& decision : resolution->decisions)
      if (decision.key == "format" &&
          std::count(decision.agreeing.begin(), decision.agreeing.end(), &entry) != 0)
        only = false;
  }
  return only;
}

/// Weights other than the members that `policy`, which has `added`, stores otherwise than now.
std::vector<std::size_t> CureFinder::changed_by(const Policy& policy,
                                                const std::vector<PathPattern>& added) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const std::string& path = weights_[i].weight.path;
    const auto covers = [&](const PathPattern& pattern) { return pattern.covers(path); };
    if (is_member(i) || std::none_of(added.begin(), added.end(), covers)) continue;
    const WeightResolution* before = now(i);
    if (before == nullptr || !is_stored_by_scheme(i)) continue;
    try {
      ExplainRequest request;
      request.facts = &weights_[i];
      if (policy.explain(path, request).scheme != before->scheme) changed.push_back(i);
    } catch (const Error&) {
      changed.push_back(i);  // nothing decides any more
    }
  }
  return changed;
}

/// Whether all that should be is stored in the format. The weight in question is a member, unless
/// only a declaration is tried.
void CureFinder::look_at(Attempt& attempt) const {
  const Policy& policy = *attempt.trial.policy;
  const auto has_it = [&](std::size_t weight) {
    return is_stored_as(explain_weight(policy, *checkpoint_, checkpoint_->tensors()[weight]),
                        format_);
  };
  try {
    attempt.reached =
        checkpoint_ == nullptr
            ? is_stored_as(explain_value(policy, explanation_.value, nullptr), format_)
            : has_it(asked_) && std::all_of(members_.begin(), members_.end(), has_it);
  } catch (const Error& error) {
    if (attempt.trial.problems.empty()) attempt.trial.problems = error.problems();
  }
}

/// Each target under a path of its own, or several `folded` into one pattern.
Attempt CureFinder::attempt(bool folded) {
  Attempt out;
  std::vector<Target> targets = targets_;
  const DecidesOnlyTargets only_members = [this](const PolicyEntry& entry) {
    return decides_only_members(entry);
  };
  for (int round = 0;; ++round) {
    out.paste = make_paste(policy_, targets, folded, only_members);
    out.too_many = out.paste.patterns.size() > kMaxSchemes;
    if (out.too_many) return out;
    out.trial = try_paste(declaration_, out.paste, policy_,
                          checkpoint_ != nullptr ? &weights_ : nullptr, input_);
    if (!out.trial.policy) return out;
    const std::vector<std::size_t> changed = changed_by(*out.trial.policy, out.paste.patterns);
    out.changed.clear();
    for (const std::size_t i : changed) out.changed.push_back(weights_[i].weight.path);
    const bool known = std::all_of(changed.begin(), changed.end(),
                                   [&](std::size_t i) { return now(i)->scheme.has_value(); });
    if (changed.empty() || !known || round == kMaxRounds ||
        out.restored.size() + changed.size() > kMaxRestored)
      break;
    for (const std::size_t i : changed) {
      out.restored.push_back(weights_[i].weight.path);
      targets.push_back({{weights_[i].weight.path}, *now(i), now(i)->scheme->format, true});
    }
  }
  look_at(out);
  return out;
}

/// "'a.b'", "'a.b' and 3 more".
std::string named(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return quote(paths.front());
  return fmt::format("{} and {} more", quote(paths.front()), paths.size() - 1);
}

Cure CureFinder::as_cure(Attempt attempt) const {
  Cure cure;
  cure.found = true;
  cure.tried = attempt.works();
  cure.fits_at_end = attempt.trial.fits_at_end;
  if (!cure.tried)
    cure.notes.push_back(
        fmt::format("What is proposed here has not been tried: {}.", attempt.trial.fault));
  if (!attempt.restored.empty())
    cure.notes.push_back(
        fmt::format("A policy covers what lies below its paths, too: {} would change along, and {} "
                    "here what {} now.",
                    named(attempt.restored), attempt.restored.size() == 1 ? "gets" : "get",
                    attempt.restored.size() == 1 ? "it has" : "they have"));
  if (!attempt.changed.empty())
    cure.notes.push_back(
        fmt::format("A policy covers what lies below its paths, too: this also changes {}.",
                    named(attempt.changed)));
  cure.also_changes = std::move(attempt.changed);
  cure.paste = std::move(attempt.paste);
  return cure;
}

void CureFinder::say_what_is_wrong(const Attempt& attempt, Cure& cure) const {
  const bool bound = targets_.size() > 1;
  for (Problem problem : attempt.trial.problems) {
    if (bound) problem.hint.clear();  // it is about the policy as it would be, which nobody has
    cure.notes.push_back(
        fmt::format("A scheme that makes it so would be wrong: {}.", to_string(problem)));
  }
  if (attempt.trial.problems.empty() && !attempt.too_many)
    cure.notes.push_back(bound ? "A scheme for these weights alone does not make it so."
                               : "A scheme for this path alone does not make it so.");
  if (attempt.too_many)
    cure.notes.push_back(fmt::format("It takes schemes for {}, which is too many to propose here.",
                                     counted(targets_.size(), "weight")));
  if (!bound || attempt.too_many) return;
  for (const GroupMembership& membership : explanation_.groups) {
    const PolicyGroup& group = *membership.group;
    if (!shares_format(group) || membership.others.empty()) continue;
    cure.notes.push_back(
        fmt::format("The group {} ({}) stands in the way: its `same` or its `paths` would have to "
                    "change.",
                    escape_for_display(group.name), place_text(policy_, group.place)));
  }
}

Cure CureFinder::find(bool schemes) {
  if (schemes) collect_members();
  Attempt last;
  for (const bool folded : {true, false}) {
    if (folded && targets_.size() < 2) continue;
    Attempt next = attempt(folded);
    if (next.works() || (!next.too_many && !next.trial.policy)) return as_cure(std::move(next));
    // One that was tried says more than one that was not.
    if (!next.too_many || !last.trial.policy) last = std::move(next);
  }
  Cure cure;
  say_what_is_wrong(last, cure);
  return cure;
}

}  // namespace

Cure find_cure(const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input,
               const std::string& declaration, bool schemes) {
  return CureFinder(explanation, format, checkpoint, input, declaration).find(schemes);
}

}  // namespace synps::cli
