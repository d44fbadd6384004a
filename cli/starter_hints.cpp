#include "starter_hints.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "name_words.h"
#include "path_folding.h"
#include "starter_summary.h"
#include "text.h"

namespace synps::cli {
namespace {

/// The position of a segment that is `*` alone, and the pattern around it.
struct AnyNumber {
  std::size_t segment = 0;
  std::string before;  ///< with the dot, if any
  std::string after;   ///< likewise
};

/// The first `*` of a pattern, if no braces come before it: they may hold dots.
std::optional<AnyNumber> first_any_number(const std::string& pattern) {
  std::size_t segment = 0;
  for (std::size_t begin = 0; begin <= pattern.size(); ++segment) {
    const std::size_t end = std::min(pattern.find('.', begin), pattern.size());
    const std::string text = pattern.substr(begin, end - begin);
    if (text.find('{') != std::string::npos) return std::nullopt;
    if (text == "*") return AnyNumber{segment, pattern.substr(0, begin), pattern.substr(end)};
    begin = end + 1;
  }
  return std::nullopt;
}

std::string segment_of(const std::string& path, std::size_t number) {
  std::size_t begin = 0;
  for (; number > 0; --number) begin = path.find('.', begin) + 1;
  return path.substr(begin, path.find('.', begin) - begin);
}

/// Whether a weight has a name of GPT-2's Conv1D. Other models use them for plain linear layers.
bool has_conv1d_name(const Weight& weight) {
  const NameWords name(weight.path);
  const NameSegment& module = name.module();
  return weight.shape.rank() == 2 && has_word(module, "c") &&
         (has_word(module, "attn") || has_word(module, "fc") || has_word(module, "proj"));
}

/// c_attn and c_fc have more outputs than inputs.
bool is_wide_conv1d(const Weight& weight) {
  const NameWords name(weight.path);
  const std::string& module = name.module().text;
  return weight.shape.rank() == 2 && weight.shape.columns() > weight.shape.rows() &&
         (module == "c_attn" || module == "c_fc");
}

const StarterGroup* largest_layered_group(const StarterPolicy& policy,
                                          const std::vector<WeightFacts>& weights) {
  const StarterGroup* largest = nullptr;
  std::uint64_t most = 0;
  const StarterSummary summary(weights);
  for (const StarterGroup& group : policy.groups) {
    const Preset& preset = *policy.preset;
    if (group.format != preset.matrices && group.format != preset.tables) continue;
    if (!first_any_number(group.pattern)) continue;
    const std::uint64_t bytes = summary.bytes(group.members);
    if (largest != nullptr && bytes <= most) continue;
    largest = &group;
    most = bytes;
  }
  return largest;
}

/// The preset's finer format, or, where a weight does not fit it, what fits any shape.
std::string_view finer_format(const StarterGroup& group, const StarterPolicy& policy,
                              const std::vector<WeightFacts>& weights,
                              const CodecRegistry& codecs) {
  const Codec* codec = codecs.resolve(policy.preset->finer);
  const bool fits = codec == nullptr ||
                    std::all_of(group.members.begin(), group.members.end(), [&](std::size_t i) {
                      return codec->supports(weights[i].weight).ok;
                    });
  return fits && group.format != policy.preset->finer ? policy.preset->finer : "keep";
}

}  // namespace

std::string orientation_hint(const StarterPolicy& policy, const std::vector<WeightFacts>& weights) {
  std::string tables;
  bool wide = false;
  for (const StarterGroup& group : policy.groups) {
    const auto any_member = [&](bool (*is)(const Weight&)) {
      return std::any_of(group.members.begin(), group.members.end(),
                         [&](std::size_t i) { return is(weights[i].weight); });
    };
    if (!any_member(has_conv1d_name)) continue;
    wide = wide || any_member(is_wide_conv1d);
    tables += fmt::format("#\n# [policies.{}.form]\n# orientation = \"in_out\"\n",
                          toml_quoted_key(group.pattern));
  }
  if (!wide) return {};
  return comment(
             "Orientation. By name and shape, these may be GPT-2's Conv1D, which stores inputs x "
             "outputs rather than outputs x inputs. Nothing is guessed: uncomment it if that is "
             "so.") +
         tables;
}

std::string layers_apart_hint(const StarterPolicy& policy, const std::vector<WeightFacts>& weights,
                              const CodecRegistry& codecs) {
  const StarterGroup* group = largest_layered_group(policy, weights);
  if (group == nullptr) return {};
  const AnyNumber any = *first_any_number(group->pattern);
  std::vector<std::string> numbers;
  for (const std::size_t i : group->members)
    numbers.push_back(segment_of(weights[i].weight.path, any.segment));
  const auto [first, last] = std::minmax_element(numbers.begin(), numbers.end(), natural_less);
  // Of two layers, both would be the first or the last.
  const std::set<std::string> layers(numbers.begin(), numbers.end());
  if (layers.size() <= 2) return {};
  const std::string pattern = fmt::format("{}{{{},{}}}{}", any.before, *first, *last, any.after);
  return comment(
             "To treat some layers differently, write a narrower policy. The first and the last "
             "often repay more bits:") +
         fmt::format("#\n# [[policies.{}.schemes]]\n# format = \"{}\"\n", toml_quoted_key(pattern),
                     finer_format(*group, policy, weights, codecs));
}

std::string packed_note(const std::vector<WeightFacts>& weights) {
  std::set<std::string_view> schemes;
  std::size_t count = 0;
  bool faulty = false;
  for (const WeightFacts& facts : weights) {
    faulty = faulty || facts.only_kept;
    if (facts.packed_as.empty()) continue;
    ++count;
    schemes.insert(facts.packed_as);
  }
  if (schemes.empty())
    return faulty ? "Scales here do not fit their weights, which nothing may decode then: they are "
                    "kept as they are."
                  : std::string();
  return fmt::format(
      "{} are parts of weights packed in {}, which nothing here decodes. They are kept as they "
      "are: "
      "decode the checkpoint with the tool that packed it to convert them.",
      counted(count, "tensor"), joined({schemes.begin(), schemes.end()}));
}

}  // namespace synps::cli
