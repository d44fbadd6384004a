#include "suggested_policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "error_rows.h"
#include "failures.h"
#include "html_text.h"
#include "inputs.h"
#include "path_groups.h"
#include "synps/error.h"
#include "synps/path_pattern.h"
#include "synps/plan.h"
#include "synps/policy.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kKeep = "keep";

/// Weights that differ in value, the worst first.
std::vector<const WeightDiff*> differing(const DiffReport& report) {
  std::vector<const WeightDiff*> out;
  for (const WeightDiff& weight : report.weights)
    if (weight.status == DiffStatus::value) out.push_back(&weight);
  std::stable_sort(out.begin(), out.end(), [](const WeightDiff* x, const WeightDiff* y) {
    // What has no figures is known only to differ, and comes last.
    if (x->has_figures() != y->has_figures()) return x->has_figures();
    return worse(x->figures, y->figures);
  });
  return out;
}

/// Refuses what no policy can bring about.
void check_can_be_made(const DiffReport& report) {
  if (report.paired == 0)
    throw usage_error(
        "no weight of A has the name of a weight of B: no policy makes one of the other");
  for (const DiffStatus status :
       {DiffStatus::shape, DiffStatus::dtype, DiffStatus::not_comparable}) {
    const auto first =
        std::find_if(report.weights.begin(), report.weights.end(),
                     [status](const WeightDiff& weight) { return weight.status == status; });
    if (first == report.weights.end()) continue;
    throw usage_error(fmt::format("no policy makes B of A: {} {}, such as {} ({})",
                                  counted(report.count(status), "weight"),
                                  status == DiffStatus::shape   ? "of another shape"
                                  : status == DiffStatus::dtype ? "of another dtype"
                                                                : "that cannot be compared",
                                  quote(first->path), escape_for_display(first->reason)));
  }
}

/// Whether some path lies below `path` in the tree of names.
bool has_below(const std::set<std::string_view>& paths, const std::string& path) {
  const std::string prefix = path + ".";
  const auto at = paths.lower_bound(prefix);
  return at != paths.end() && at->substr(0, prefix.size()) == prefix;
}

/// Finds the policies. For one pair.
class Suggester {
 public:
  Suggester(const DiffReport& report, const Checkpoint& a, const CodecRegistry& codecs)
      : a_(a), codecs_(codecs), facts_(weight_facts(a)) {
    for (const WeightDiff& weight : report.weights)
      if (weight.a != nullptr) diffs_.push_back(&weight);
    for (const WeightDiff& weight : report.weights)
      if (weight.status == DiffStatus::value && weight.a->encoding == weight.b->encoding)
        ++out_.same_encoding;
    out_.of_artifact = a.artifact() != nullptr;
    out_.only_in_a = report.count(DiffStatus::only_in_a);
    out_.only_in_b = report.count(DiffStatus::only_in_b);
  }

  SuggestedPolicy suggest(std::vector<const WeightDiff*> worst);
  /// What the policy is to make of each weight, by its number in A.
  const std::vector<SuggestedScheme>& schemes() const noexcept { return schemes_; }
  const std::vector<WeightFacts>& facts() const noexcept { return facts_; }

 private:
  std::size_t number(const WeightDiff& weight) const {
    return static_cast<std::size_t>(weight.a - a_.tensors().data());
  }
  std::string format_of(const WeightDiff& weight) const;
  void choose_formats();
  void choose_root();
  void add_groups();
  void add_source_formats();

  const Checkpoint& a_;
  const CodecRegistry& codecs_;
  std::vector<WeightFacts> facts_;        ///< by tensor of A
  std::vector<const WeightDiff*> diffs_;  ///< of A's weights
  std::vector<SuggestedScheme> schemes_;  ///< by tensor of A
  std::vector<bool> stays_;               ///< by tensor of A: among the worst
  SuggestedPolicy out_;
};

bool is_volatile(const SourceTensor& tensor) {
  return tensor.stored != nullptr && tensor.stored->scheme && tensor.stored->scheme->is_volatile;
}

/// How B stores a weight of A, in a policy's words.
std::string Suggester::format_of(const WeightDiff& weight) const {
  const SourceTensor& from = *weight.a;
  if (weight.b == nullptr || facts_[number(weight)].only_kept) return kKeep;
  const bool same = weight.b->encoding == from.encoding;
  if (same && from.scale) return kKeep;
  const Codec* const codec = source_codec(codecs_, weight_facts(*weight.b));
  if (codec != nullptr && codec->info().encodes) return CodecRegistry::short_name(codec->info());
  if (same) return kKeep;
  throw usage_error(
      fmt::format("no policy makes B of A: nothing here encodes {}, which B has for {}",
                  escape_for_display(weight.b->encoding), quote(weight.path)));
}

void Suggester::choose_formats() {
  schemes_.assign(facts_.size(), {});
  for (const WeightDiff* weight : diffs_) {
    const WeightFacts& facts = facts_[number(*weight)];
    const bool empty = facts.weight.shape.elements() == 0;
    if (facts.only_kept || (facts.needs_scheme() && !empty))
      schemes_[number(*weight)] = {format_of(*weight), is_volatile(*weight->a)};
  }
}

/// The commonest scheme; of several the one with the most elements, then the first by name.
void Suggester::choose_root() {
  std::map<SuggestedScheme, std::pair<std::size_t, std::uint64_t>> counts;
  for (std::size_t i = 0; i < schemes_.size(); ++i) {
    if (schemes_[i].format.empty()) continue;
    auto& count = counts[schemes_[i]];
    ++count.first;
    count.second += facts_[i].weight.shape.elements();
  }
  out_.root = {kKeep};
  std::pair<std::size_t, std::uint64_t> most{0, 0};
  for (const auto& [scheme, count] : counts) {
    if (count <= most) continue;
    most = count;
    out_.root = scheme;
  }
  for (std::size_t i = 0; i < schemes_.size(); ++i)
    out_.root_weights += schemes_[i] == out_.root && !stays_[i] ? 1 : 0;
}

/// A weight that stays is grouped as what it would have become, for its own policy is narrower;
/// but where that policy covers others below it, these need policies of their own.
void Suggester::add_groups() {
  std::set<std::string_view> paths;
  for (std::size_t i = 0; i < schemes_.size(); ++i)
    if (!schemes_[i].format.empty()) paths.insert(facts_[i].weight.path);
  std::vector<GroupItem> items;
  std::vector<std::size_t> weight_of;
  for (std::size_t i = 0; i < schemes_.size(); ++i) {
    const SuggestedScheme& scheme = schemes_[i];
    if (scheme.format.empty()) continue;
    const std::string& path = facts_[i].weight.path;
    std::string key;
    if (scheme != out_.root) key = scheme.format + (scheme.is_volatile ? " volatile" : "");
    if (stays_[i] && has_below(paths, path)) key = fmt::format("stays {}", i);
    items.push_back({path, std::move(key)});
    weight_of.push_back(i);
  }
  for (PathGroup& group : group_paths(items)) {
    std::size_t changed = 0;
    for (const std::size_t member : group.members) changed += stays_[weight_of[member]] ? 0 : 1;
    if (changed == 0) continue;  // policies of their own say that they stay
    const SuggestedScheme& scheme = schemes_[weight_of[group.members.front()]];
    out_.groups.push_back({std::move(group.pattern), scheme, changed});
  }
}

/// Encodings that are decoded and that no format names.
void Suggester::add_source_formats() {
  std::set<const Codec*> named{codecs_.resolve(out_.root.format)};
  for (const SuggestedGroup& group : out_.groups)
    named.insert(codecs_.resolve(group.scheme.format));
  for (const Codec* codec : named)
    if (codec != nullptr && !codec->info().file.empty())
      out_.packages.push_back(codec->info().package);
  std::sort(out_.packages.begin(), out_.packages.end());
  out_.packages.erase(std::unique(out_.packages.begin(), out_.packages.end()), out_.packages.end());
  std::set<std::string> encodings;
  for (std::size_t i = 0; i < schemes_.size(); ++i) {
    const std::string& format = schemes_[i].format;
    if (format.empty() || format == kKeep || stays_[i]) continue;
    const Codec* const source = source_codec(codecs_, facts_[i]);
    if (source == nullptr || source == codecs_.resolve(format)) continue;
    if (source->info().dense &&
        (facts_[i].source() == encoding_name(DType::f32) || named.find(source) != named.end()))
      continue;
    encodings.insert(source->info().dense ? facts_[i].source()
                                          : CodecRegistry::short_name(source->info()));
  }
  out_.source_formats.assign(encodings.begin(), encodings.end());
}

SuggestedPolicy Suggester::suggest(std::vector<const WeightDiff*> worst) {
  stays_.assign(facts_.size(), false);
  for (const WeightDiff* weight : worst) stays_[number(*weight)] = true;
  choose_formats();
  choose_root();
  add_groups();
  add_source_formats();
  for (const WeightDiff* weight : worst) {
    SuggestedScheme& scheme = schemes_[number(*weight)];
    scheme = {kKeep, is_volatile(*weight->a)};
    out_.worst_groups.push_back({PathPattern::literal(weight->path), scheme, 1});
  }
  out_.worst = std::move(worst);
  return std::move(out_);
}

/// What a policy makes of A. What is too large for a policy file, or for patterns, is refused here,
/// without the name of a file and a place, for nobody has that file.
std::vector<WeightResolution> resolutions(const std::string& text,
                                          const std::vector<WeightFacts>& facts,
                                          const CodecRegistry& codecs, std::size_t worst) {
  ResolveOptions options;
  options.allow_unmatched = true;
  try {
    return Policy::parse(text, "synps.toml", codecs, policy_options(codecs))
        .resolve(facts, options);
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) {
      problem.file.clear();
      problem.offset.reset();
      problem.line = problem.column = 0;
      problem.what = fmt::format("--suggest-policy {}: no policy file can say so much: {}", worst,
                                 problem.what);
      problem.hint = worst == 0 ? "" : "name fewer weights";
    }
    throw Error(std::move(problems));
  }
}

/// The policy says of every weight what it was made for.
void check_policy(const std::string& text, const Suggester& made, const CodecRegistry& codecs,
                  std::size_t worst) {
  const std::vector<WeightResolution> resolved = resolutions(text, made.facts(), codecs, worst);
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const std::string& format = made.schemes()[i].format;
    if (format.empty()) continue;
    const Codec* const codec = format == kKeep ? nullptr : codecs.resolve(format);
    const Codec* const found = resolved[i].codec;
    const bool same = codec == nullptr || found == nullptr
                          ? codec == found
                          : codec->info().id() == found->info().id();
    const bool found_volatile = resolved[i].scheme && resolved[i].scheme->is_volatile;
    if (same && found_volatile == made.schemes()[i].is_volatile) continue;
    throw Error({.code = ErrorCode::policy,
                 .what = "no policy can name this weight apart from others",
                 .field = made.facts()[i].weight.path});
  }
}

}  // namespace

std::size_t worst_count(const std::string& text) {
  std::size_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault != std::errc() || end != text.data() + text.size())
    throw usage_error("--suggest-policy needs a number of weights: found " + quote(text));
  return count;
}

std::string suggested_policy(const DiffReport& report, const Checkpoint& a, const Checkpoint& b,
                             const CodecRegistry& codecs, std::size_t worst) {
  check_can_be_made(report);
  std::vector<const WeightDiff*> weights = differing(report);
  if (worst > weights.size())
    throw usage_error(fmt::format("--suggest-policy {}: {} in value", worst,
                                  weights.empty() ? std::string("no weight differs")
                                  : weights.size() == 1
                                      ? std::string("only 1 weight differs")
                                      : fmt::format("only {} weights differ", weights.size())));
  weights.resize(worst);
  Suggester suggester(report, a, codecs);
  const SuggestedPolicy policy = suggester.suggest(std::move(weights));
  std::string text = suggested_text(policy, file_name(a.path()), file_name(b.path()));
  check_policy(text, suggester, codecs, worst);
  return text;
}

}  // namespace synps::cli
