#include "starter_policy.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "path_groups.h"
#include "synps/checkpoint.h"

namespace synps::cli {
namespace {

using Reason = WeightChoice::Reason;

constexpr const char* kKeep = "keep";

/// Policies that a person still reads through, and, far below the limits of policy files, what a
/// file may have.
constexpr std::size_t kReadablePolicies = 48;
constexpr std::size_t kMaxPolicies = 200;
constexpr std::size_t kMaxNestedPolicies = 100;
/// Bytes of a pattern, and of all patterns as the file writes them.
constexpr std::size_t kMaxPatternBytes = 2048;
constexpr std::size_t kMaxPatternsBytes = std::size_t{256} << 10;

/// Bytes as 16-bit values. A shape whose elements fit 64 bits may have more bytes than that.
std::uint64_t half_bytes(const Shape& shape) {
  return shape.bytes(DType::f16).value_or(UINT64_MAX);
}

/// What holds the rows that a codec cannot: the source's own 16 bits. Wider floats stay as they
/// are, for nothing that headers say tells whether their values fit 16 bits.
std::string dense_format(DType source) {
  if (source == DType::bf16) return "bf16";
  return source == DType::f16 ? "f16" : kKeep;
}

/// One dense format for several weights, without loss for any.
std::string dense_format(const std::vector<std::size_t>& members,
                         const std::vector<WeightFacts>& weights) {
  std::set<DType> sources;
  for (const std::size_t i : members) sources.insert(weights[i].weight.dtype);
  return sources.size() == 1 ? dense_format(*sources.begin()) : kKeep;
}

class Chooser {
 public:
  Chooser(const Preset& preset, const CodecRegistry& codecs) : preset_(preset), codecs_(codecs) {}

  WeightChoice choose(const WeightFacts& facts, Role role) const {
    WeightChoice choice;
    choice.role = role;
    if (role == Role::not_float) return choice;
    const Weight& weight = facts.weight;
    const Codec* source = source_codec(codecs_, facts);
    choice.reason = weight.shape.elements() == 0 ? Reason::empty
                    : facts.only_kept            ? Reason::parts
                    : source == nullptr          ? Reason::no_codec
                    : !source->info().dense      ? Reason::packed
                    : !is_large(role)            ? Reason::small
                                                 : Reason::preset;
    if (choice.reason == Reason::preset) choose_format(weight, choice);
    return choice;
  }

 private:
  void choose_format(const Weight& weight, WeightChoice& choice) const {
    const bool table = choice.role == Role::embedding || choice.role == Role::head;
    const Codec& codec = *codecs_.resolve(table ? preset_.tables : preset_.matrices);
    choice.format = CodecRegistry::short_name(codec.info());
    choice.fits = codec.supports(weight).ok;
    if (!choice.fits || codec.info().dense || gains(codec, weight)) return;
    choice.reason = is_float8(weight.dtype) ? Reason::float8 : Reason::no_gain;
    choice.format = kKeep;
  }

  /// Whether the codec saves at least a quarter of what 16 bits take, or 8 where the source is
  /// 8-bit floats.
  bool gains(const Codec& codec, const Weight& weight) const {
    std::uint64_t bytes = 0;
    for (const Component& component : codec.components(weight)) bytes += component.bytes;
    const std::uint64_t dense = half_bytes(weight.shape) / (is_float8(weight.dtype) ? 2 : 1);
    return bytes / 3 < dense / 4;
  }

  const Preset& preset_;
  const CodecRegistry& codecs_;
};

/// Whether another tensor is called what a component of the weight may be: `w#blocks` for `w`.
bool name_is_taken(const std::string& path, const std::set<std::string_view>& paths) {
  const std::string prefix = path + "#";
  const auto at = paths.lower_bound(prefix);
  return at != paths.end() && at->substr(0, prefix.size()) == prefix;
}

bool unwritable(const StarterGroup& group) {
  return group.pattern.empty() || group.pattern.size() > kMaxPatternBytes;
}

/// Puts a starter policy together, for one format of the root.
class Builder {
 public:
  Builder(const std::vector<WeightFacts>& weights, const StarterPolicy& chosen,
          std::string root_format)
      : weights_(weights), out_(chosen) {
    out_.root_format = std::move(root_format);
  }

  StarterPolicy build();

 private:
  bool counts(std::size_t i) const {
    return out_.choices[i].role != Role::not_float && out_.choices[i].reason != Reason::empty;
  }
  std::uint64_t bytes_of(const StarterGroup& group) const;
  void add_group(const PathGroup& path_group);
  std::optional<std::size_t> nearest_above(std::optional<std::size_t> above) const;
  void settle_unfit(StarterGroup& group) const;
  bool nested_fit() const;
  std::vector<bool> writable() const;
  void limit_policies();
  void collect_root();

  const std::vector<WeightFacts>& weights_;
  StarterPolicy out_;
  std::vector<bool> nested_;  ///< by group
  /// By weight, the next weight above it in the tree of names, for nested ones.
  std::vector<std::optional<std::size_t>> above_;
  /// The groups of nested weights, by weight; one that says what the policy above it says is a
  /// member of that group.
  std::unordered_map<std::size_t, std::size_t> nested_groups_;
};

std::uint64_t Builder::bytes_of(const StarterGroup& group) const {
  std::uint64_t sum = 0;
  for (const std::size_t i : group.members) sum += source_bytes(weights_[i]);
  return sum;
}

/// Gives the members whose shape does not fit a fallback, or, where no shape fits, what the
/// fallback would be.
void Builder::settle_unfit(StarterGroup& group) const {
  std::vector<std::size_t> unfit;
  for (const std::size_t i : group.members)
    if (!out_.choices[i].fits) unfit.push_back(i);
  if (unfit.empty()) return;
  const std::string dense = dense_format(unfit, weights_);
  if (unfit.size() < group.members.size()) {
    group.fallback = dense;
    return;
  }
  const bool as_it_is = std::all_of(unfit.begin(), unfit.end(), [&](std::size_t i) {
    return encoding_name(weights_[i].weight.dtype) == dense;
  });
  group.format = as_it_is ? kKeep : dense;
}

void Builder::add_group(const PathGroup& path_group) {
  const std::size_t first = path_group.members.front();
  const std::optional<std::size_t> above = nearest_above(path_group.above);
  const WeightChoice& choice = out_.choices[first];
  if (!above && choice.format == out_.root_format) return;  // the root's already
  StarterGroup group;
  group.role = choice.role;
  group.pattern = path_group.pattern;
  group.members = path_group.members;
  group.format = group.wanted = choice.format;
  settle_unfit(group);
  if (!above && group.format == out_.root_format) return;
  if (above && out_.groups[*above].format == group.format) {
    out_.groups[*above].members.push_back(first);
    nested_groups_.emplace(first, *above);
    return;
  }
  if (path_group.nested) nested_groups_.emplace(first, out_.groups.size());
  out_.groups.push_back(std::move(group));
  nested_.push_back(path_group.nested);
}

/// The group whose policy a weight would have from above it in the tree of names, where `above` is
/// the next weight there; nothing for the root's. What is above has been added before.
std::optional<std::size_t> Builder::nearest_above(std::optional<std::size_t> above) const {
  while (above) {
    const auto found = nested_groups_.find(*above);
    if (found != nested_groups_.end()) return found->second;
    above = above_[*above];
  }
  return std::nullopt;
}

/// Whether the policies of nested weights can all be written. It is all or none: a policy of one of
/// them covers others too.
bool Builder::nested_fit() const {
  std::size_t count = 0;
  std::size_t written = 0;
  for (std::size_t g = 0; g < out_.groups.size(); ++g) {
    if (!nested_[g]) continue;
    if (++count > kMaxNestedPolicies || unwritable(out_.groups[g])) return false;
    written += toml_quoted_key(out_.groups[g].pattern).size();
  }
  return written <= kMaxPatternsBytes;
}

/// Which policies a file can hold: the largest groups first.
std::vector<bool> Builder::writable() const {
  const bool with_nested = nested_fit();
  std::vector<std::size_t> order;
  for (std::size_t g = 0; g < out_.groups.size(); ++g)
    if (!nested_[g] || with_nested) order.push_back(g);
  std::vector<std::uint64_t> bytes;
  for (const StarterGroup& group : out_.groups) bytes.push_back(bytes_of(group));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return nested_[a] != nested_[b] ? nested_[a] : bytes[a] > bytes[b];
  });
  std::vector<bool> out(out_.groups.size(), false);
  std::size_t policies = 0;
  std::size_t written = 0;
  for (const std::size_t g : order) {
    if (policies == kMaxPolicies || unwritable(out_.groups[g])) continue;
    const std::size_t size = toml_quoted_key(out_.groups[g].pattern).size();
    if (written + size > kMaxPatternsBytes) continue;
    written += size;
    ++policies;
    out[g] = true;
  }
  return out;
}

void Builder::limit_policies() {
  const std::vector<bool> fits = writable();
  std::vector<StarterGroup> kept;
  for (std::size_t g = 0; g < out_.groups.size(); ++g) {
    if (fits[g]) {
      kept.push_back(std::move(out_.groups[g]));
      continue;
    }
    for (const std::size_t i : out_.groups[g].members)
      if (out_.choices[i].format != out_.root_format) out_.unnamed.push_back(i);
  }
  out_.groups = std::move(kept);
}

/// What no group has is the root's.
void Builder::collect_root() {
  std::vector<bool> named(weights_.size(), false);
  for (const StarterGroup& group : out_.groups)
    for (const std::size_t i : group.members) named[i] = true;
  std::vector<std::size_t> unfit;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (named[i] || out_.choices[i].role == Role::not_float) continue;
    out_.root.push_back(i);
    const WeightChoice& choice = out_.choices[i];
    if (!choice.fits && choice.format == out_.root_format) unfit.push_back(i);
  }
  if (out_.root_format != kKeep && !unfit.empty())
    out_.root_fallback = dense_format(unfit, weights_);
}

StarterPolicy Builder::build() {
  std::vector<GroupItem> items;
  std::vector<std::size_t> weight_of;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (!counts(i)) continue;
    const WeightChoice& choice = out_.choices[i];
    std::string key;
    if (choice.format != out_.root_format)
      key = std::to_string(static_cast<int>(choice.role)) + " " + choice.format;
    items.push_back({weights_[i].weight.path, std::move(key)});
    weight_of.push_back(i);
  }
  above_.resize(weights_.size());
  for (PathGroup& group : group_paths(items)) {
    for (std::size_t& member : group.members) member = weight_of[member];
    if (group.above) group.above = weight_of[*group.above];
    above_[group.members.front()] = group.above;
    add_group(group);
  }
  limit_policies();
  std::stable_sort(out_.groups.begin(), out_.groups.end(),
                   [](const auto& a, const auto& b) { return a.role < b.role; });
  collect_root();
  return std::move(out_);
}

/// The formats other than `keep`, the one with the most bytes first.
std::vector<std::string> formats_by_bytes(const std::vector<WeightFacts>& weights,
                                          const std::vector<WeightChoice>& choices) {
  std::map<std::string, std::uint64_t> bytes;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (choices[i].format != kKeep) bytes[choices[i].format] += source_bytes(weights[i]);
  std::vector<std::string> out;
  for (const auto& entry : bytes) out.push_back(entry.first);
  std::stable_sort(out.begin(), out.end(),
                   [&](const std::string& a, const std::string& b) { return bytes[a] > bytes[b]; });
  return out;
}

bool decides_a_float(const StarterPolicy& policy) {
  return std::any_of(policy.root.begin(), policy.root.end(),
                     [&](std::size_t i) { return policy.choices[i].reason != Reason::empty; });
}

/// The root keeps what no policy names, so that only what is named changes. Where that would leave
/// it nothing to decide, or take very many policies, the root says what most weights get.
StarterPolicy choose_root(const std::vector<WeightFacts>& weights, const StarterPolicy& chosen) {
  StarterPolicy keeping = Builder(weights, chosen, kKeep).build();
  // What must be kept must be kept in so many words, of packed integers too.
  if (std::any_of(weights.begin(), weights.end(), [](const auto& each) { return each.only_kept; }))
    return keeping;
  const bool idle = !decides_a_float(keeping);
  const bool lacking = !keeping.unnamed.empty();
  if (!idle && !lacking && keeping.groups.size() <= kReadablePolicies) return keeping;
  for (const std::string& format : formats_by_bytes(weights, chosen.choices)) {
    StarterPolicy changing = Builder(weights, chosen, format).build();
    if (!changing.unnamed.empty() || !decides_a_float(changing)) continue;
    const bool shorter = changing.groups.size() * 2 <= keeping.groups.size();
    if (idle || lacking || shorter) return changing;
  }
  return keeping;
}

/// Encodings that have to be decoded, those that go without saying left out.
std::vector<std::string> source_formats(const std::vector<WeightFacts>& weights,
                                        const StarterPolicy& policy, const CodecRegistry& codecs) {
  std::set<std::string> out;
  const auto note = [&](std::size_t i, const std::string& format, const std::string& fallback) {
    const WeightChoice& choice = policy.choices[i];
    if (choice.reason == Reason::empty || weights[i].source() == encoding_name(DType::f32)) return;
    const bool falls_back = !choice.fits && choice.format == format && !fallback.empty();
    const std::string& stored = falls_back ? fallback : format;
    const Codec* source = source_codec(codecs, weights[i]);
    if (stored == kKeep || source == nullptr || codecs.resolve(stored) == source) return;
    out.insert(source->info().dense ? weights[i].source()
                                    : CodecRegistry::short_name(source->info()));
  };
  for (const std::size_t i : policy.root) note(i, policy.root_format, policy.root_fallback);
  for (const StarterGroup& group : policy.groups)
    for (const std::size_t i : group.members) note(i, group.format, group.fallback);
  return {out.begin(), out.end()};
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {"f16", "f16", "f16", "keep"},
      {"q8_0", "q8_0", "q8_0", "keep"},
      {"q4_0", "q4_0", "q8_0", "q8_0"},
      {"ternary", "ternary", "q8_0", "q8_0"},
  };
  return all;
}

const Preset* find_preset(std::string_view name) noexcept {
  for (const Preset& preset : presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

StarterPolicy make_starter_policy(const std::vector<WeightFacts>& weights, const Preset& preset,
                                  const CodecRegistry& codecs) {
  StarterPolicy chosen;
  chosen.preset = &preset;
  const std::vector<Role> roles = weight_roles(weights);
  const Chooser chooser(preset, codecs);
  std::set<std::string_view> paths;
  for (const WeightFacts& facts : weights) paths.insert(facts.weight.path);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    WeightChoice& choice = chosen.choices.emplace_back(chooser.choose(weights[i], roles[i]));
    if (choice.format == kKeep || !name_is_taken(weights[i].weight.path, paths)) continue;
    choice.reason = Reason::name;
    choice.format = kKeep;
    choice.fits = true;
  }
  StarterPolicy out = choose_root(weights, chosen);
  out.source_formats = source_formats(weights, out, codecs);
  return out;
}

std::uint64_t stored_bytes(const WeightFacts& facts, const std::string& format,
                           const CodecRegistry& codecs) {
  const Codec* codec = format == kKeep ? nullptr : codecs.resolve(format);
  if (codec == nullptr || !codec->supports(facts.weight).ok) return source_bytes(facts);
  std::uint64_t sum = 0;
  for (const Component& component : codec->components(facts.weight)) sum += component.bytes;
  return sum;
}

std::uint64_t source_bytes(const WeightFacts& facts) {
  return facts.bytes != 0 ? facts.bytes : facts.weight.shape.bytes(facts.weight.dtype).value_or(0);
}

}  // namespace synps::cli
