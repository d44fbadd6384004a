#include "starter_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "starter_hints.h"
#include "starter_summary.h"
#include "synps/checkpoint.h"
#include "synps/error.h"
#include "synps/output_kind.h"
#include "text.h"

namespace synps::cli {
namespace {

using Members = std::vector<std::size_t>;
using Reason = WeightChoice::Reason;

constexpr const char* kKeep = "keep";

std::string rule() {
  return "\n# " + std::string(96, '-') + "\n";
}

/// Why weights of a role are best left alone.
std::string_view why_kept(Role role) {
  switch (role) {
    case Role::norm:
      return "Small, and sensitive to rounding.";
    case Role::bias:
      return "Small beside their matrices, and added to sums as they are.";
    case Role::mask:
      return "Constants, which stay exact.";
    case Role::router:
      return "Small, and a rounding can choose other experts.";
    case Role::scale:
      return "Whatever they multiply depends on them.";
    default:
      return "Too small to matter for the size.";
  }
}

class Writer {
 public:
  Writer(const StarterPolicy& policy, const std::vector<WeightFacts>& weights,
         const CodecRegistry& codecs)
      : policy_(policy), weights_(weights), codecs_(codecs), summary_(weights) {}

  std::string write(const std::string& checkpoint) {
    add_head(checkpoint);
    add_source_formats();
    add_root();
    for (std::size_t begin = 0; begin < policy_.groups.size();) {
      std::size_t end = begin;
      while (end < policy_.groups.size() && policy_.groups[end].role == policy_.groups[begin].role)
        ++end;
      add_section(begin, end);
      begin = end;
    }
    add_not_floats();
    for (const std::string& hint :
         {orientation_hint(policy_, weights_), layers_apart_hint(policy_, weights_, codecs_)})
      if (!hint.empty()) out_ += rule() + hint;
    return std::move(out_);
  }

 private:
  void add_head(const std::string& checkpoint);
  void add_preset_note();
  void add_source_formats();
  void add_root();
  void add_root_lists();
  void add_section(std::size_t begin, std::size_t end);
  void add_group(const StarterGroup& group, bool described);
  void add_fallback(const std::string& pattern, const std::string& fallback,
                    const Members& members);
  void add_not_floats();

  std::string_view why_finer(Role role) const;
  std::string kept_title(Role role, Reason reason, const Members& members) const;
  std::uint64_t packed_bytes(const StarterGroup& group) const;
  Members unfit(const Members& members) const;
  bool overflow_is_possible() const;
  bool decodes_f64() const;
  std::string why_float8_is_kept(Role role) const;

  const StarterPolicy& policy_;
  const std::vector<WeightFacts>& weights_;
  const CodecRegistry& codecs_;
  StarterSummary summary_;
  std::string out_;
};

void Writer::add_head(const std::string& checkpoint) {
  out_ += comment(fmt::format("A starter policy{}{}: what `synps init --preset {}` proposes.",
                              checkpoint.empty() ? "" : " for ", checkpoint, policy_.preset->name));
  out_ += "#\n";
  out_ +=
      comment("Read it, change it, then check it and see what it does before anything is written:");
  out_ +=
      "#\n"
      "#     synps check CHECKPOINT -p synps.toml\n"
      "#     synps plan CHECKPOINT -p synps.toml\n"
      "#     synps pack CHECKPOINT -p synps.toml -o model.synps\n";
  if (is_gguf_name(checkpoint))
    out_ +=
        "#\n# or, for a GGUF file:\n#\n"
        "#     synps plan CHECKPOINT -p synps.toml --to gguf\n"
        "#     synps pack CHECKPOINT -p synps.toml -o model.gguf\n";
  out_ += "#\n";
  out_ += comment(
      "docs/policy.md explains the language, `synps codecs` lists the formats. A pattern covers "
      "the "
      "paths it matches and everything below them; of the policies that cover a weight the "
      "narrowest one decides. The order of the file never matters.");
  if (weights_.empty()) {
    out_ += "#\n# The checkpoint has no tensors.\n";
    return;
  }
  out_ += "#\n# The checkpoint holds\n#\n" + summary_.table_of_encodings();
  add_preset_note();
  if (const std::string note = packed_note(weights_); !note.empty()) out_ += "#\n" + comment(note);
  if (overflow_is_possible())
    out_ += "#\n" + comment(
                        "f16 ends at 65504. Where a weight holds more, `synps pack` stops and "
                        "names it: give that one \"bf16\" or \"keep\".");
}

/// Where the preset is most likely not what somebody wants.
void Writer::add_preset_note() {
  bool used = false;
  bool wide = false;
  bool rounds = false;
  bool float8 = false;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const WeightChoice& choice = policy_.choices[i];
    if (choice.reason != Reason::preset || choice.format != policy_.preset->matrices) continue;
    const DType source = weights_[i].weight.dtype;
    used = true;
    wide = wide || (source != DType::f16 && source != DType::bf16);
    rounds = rounds || source == DType::bf16;
    float8 = float8 || is_float8(source);
  }
  if (!used) return;
  if (policy_.preset->matrices == "ternary")
    out_ += "#\n" + comment(
                        "Two bits a weight suit models that were trained to have ternary weights; "
                        "others lose much of what they know.");
  if (policy_.preset->matrices == "f16" && !wide)
    out_ += "#\n" + comment(fmt::format(
                        "All that becomes f16 here has 16 bits already: nothing gets smaller{}.",
                        rounds ? ", and f16 does not hold every value of bf16" : ""));
  if (policy_.preset->matrices == "f16" && float8)
    out_ += "#\n" + comment(
                        "8-bit floats that become f16 get twice as large; \"keep\" leaves them as "
                        "they are.");
}

void Writer::add_source_formats() {
  if (policy_.source_formats.empty()) return;
  std::string list;
  for (const std::string& name : policy_.source_formats)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  out_ += "\n[myelin]\n";
  out_ += comment(
      "Encodings that are decoded, f32 aside. One that nothing in this file names is an error, so "
      "that nothing is decoded that nobody thought of.");
  if (decodes_f64()) out_ += comment("f64 is read as f32, which rounds.");
  out_ += fmt::format("formats = [{}]\n", list);
}

bool Writer::decodes_f64() const {
  const auto& formats = policy_.source_formats;
  return std::find(formats.begin(), formats.end(), "f64") != formats.end();
}

std::string Writer::why_float8_is_kept(Role role) const {
  const bool table = role == Role::embedding || role == Role::head;
  const std::string_view format = table ? policy_.preset->tables : policy_.preset->matrices;
  return fmt::format("Eight bits already: {} would take about as many, or more, and lose more.{}",
                     format, format == "q8_0" && !table ? " `--preset q4_0` halves them." : "");
}

std::string Writer::kept_title(Role role, Reason reason, const Members& members) const {
  const std::string start = fmt::format("{}: {}.", role_title(role), summary_.amount(members));
  switch (reason) {
    case Reason::no_codec:
      return start + " No codec here decodes that.";
    case Reason::packed:
      return start + " Packed already: encoding them again would lose more.";
    case Reason::empty:
      return start + " Nothing in them to store.";
    case Reason::no_gain:
      return fmt::format("{} Rows of {}: {} would take about as much as 16 bits.", start,
                         summary_.row_lengths(members), policy_.preset->matrices);
    case Reason::float8:
      return fmt::format("{} {}", start, why_float8_is_kept(role));
    case Reason::name:
      return start + " Another tensor has a name that packing them would need.";
    case Reason::parts:
      return start + " Parts of weights that nothing here decodes.";
    case Reason::small:
      return fmt::format("{} {}", start, why_kept(role));
    case Reason::preset:
      break;
  }
  const bool kept = policy_.root_format == kKeep;
  if (!kept) return start;
  return fmt::format("{} Rows of {}, which {} cannot hold: they stay as they are.", start,
                     summary_.row_lengths(members), policy_.choices[members.front()].format);
}

/// What the root decides, by role and by why, and last what has no policy for want of a pattern.
void Writer::add_root_lists() {
  std::vector<bool> unnamed(weights_.size(), false);
  for (const std::size_t i : policy_.unnamed) unnamed[i] = true;
  std::map<std::pair<Role, Reason>, Members> sets;
  for (const std::size_t i : policy_.root)
    if (!unnamed[i]) sets[{policy_.choices[i].role, policy_.choices[i].reason}].push_back(i);
  std::vector<Members> listed;
  for (const auto& set : sets) listed.push_back(set.second);
  listed.push_back(policy_.unnamed);
  const std::vector<std::string> lists = summary_.lists(listed);
  std::size_t next = 0;
  for (const auto& [what, members] : sets)
    out_ += "#\n" + comment(kept_title(what.first, what.second, members)) + lists[next++];
  if (policy_.unnamed.empty()) return;
  out_ += "#\n" + comment(fmt::format(
                      "Not converted: {}. Their names have too little in common, or are too long, "
                      "to give each a policy here. Name those that matter, or give the root below "
                      "a format and a fallback.",
                      summary_.amount(policy_.unnamed)));
  out_ += lists.back();
}

void Writer::add_root() {
  out_ += rule();
  const bool must_keep = std::any_of(weights_.begin(), weights_.end(),
                                     [](const WeightFacts& facts) { return facts.only_kept; });
  if (policy_.root.empty() && policy_.groups.empty() && !must_keep) {
    out_ += comment("No weight here is a float: none needs a format, so there is no policy yet.");
    return;
  }
  const bool keeps = policy_.root_format == kKeep;
  if (keeps)
    out_ += comment(
        "The root covers what no policy below names. It stays as the checkpoint has it: "
        "`keep` copies any encoding unchanged.");
  else
    out_ += comment(fmt::format("The root covers what no policy below names. It becomes {}.",
                                policy_.root_format));
  add_root_lists();
  if (!policy_.root_fallback.empty()) {
    out_ += "\n";
    add_fallback("*", policy_.root_fallback, unfit(policy_.root));
  }
  out_ += fmt::format("\n[[policies.\"*\".schemes]]\nformat = \"{}\"\n", policy_.root_format);
}

Members Writer::unfit(const Members& members) const {
  Members out;
  for (const std::size_t i : members)
    if (!policy_.choices[i].fits) out.push_back(i);
  return out;
}

void Writer::add_fallback(const std::string& pattern, const std::string& fallback,
                          const Members& members) {
  out_ += fmt::format("[policies.{}]\n", toml_quoted_key(pattern));
  out_ += comment(fmt::format("For {} with rows of {}, which {} cannot hold.",
                              counted(members.size(), "weight"), summary_.row_lengths(members),
                              policy_.choices[members.front()].format));
  out_ += fmt::format("fallback = \"{}\"\n", fallback);
}

std::uint64_t Writer::packed_bytes(const StarterGroup& group) const {
  std::uint64_t sum = 0;
  for (const std::size_t i : group.members) {
    const bool falls_back = !group.fallback.empty() && !policy_.choices[i].fits;
    sum += stored_bytes(weights_[i], falls_back ? group.fallback : group.format, codecs_);
  }
  return sum;
}

std::string_view Writer::why_finer(Role role) const {
  if (policy_.preset->tables == policy_.preset->matrices) return {};
  if (role == Role::embedding)
    return " Finer than the matrices: every token passes through this table.";
  if (role == Role::head) return " Finer than the matrices: every score is made here.";
  return {};
}

void Writer::add_section(std::size_t begin, std::size_t end) {
  const StarterGroup& first = policy_.groups[begin];
  Members members;
  std::uint64_t packed = 0;
  for (std::size_t g = begin; g < end; ++g) {
    const StarterGroup& group = policy_.groups[g];
    members.insert(members.end(), group.members.begin(), group.members.end());
    packed += packed_bytes(group);
  }
  const bool alone = end - begin == 1;
  out_ += rule() + comment(fmt::format(
                       "{}: {}, {} packed.{}", role_title(first.role),
                       alone ? summary_.shapes_and_amount(members) : summary_.amount(members),
                       human_bytes(packed), why_finer(first.role)));
  for (std::size_t g = begin; g < end; ++g) add_group(policy_.groups[g], alone);
}

/// `described`: the heading says of its weights what there is to say.
void Writer::add_group(const StarterGroup& group, bool described) {
  out_ += "\n";
  if (!described)
    out_ += comment(fmt::format("{}, {} packed.", summary_.shapes_and_amount(group.members),
                                human_bytes(packed_bytes(group))));
  if (group.format != group.wanted)
    out_ += comment(fmt::format("Rows of {}, which {} cannot hold.",
                                summary_.row_lengths(group.members), group.wanted));
  if (policy_.choices[group.members.front()].reason == Reason::no_gain)
    out_ += comment(fmt::format("Rows of {}: {} would take about as much as 16 bits.",
                                summary_.row_lengths(group.members), policy_.preset->matrices));
  if (policy_.choices[group.members.front()].reason == Reason::float8)
    out_ += comment(why_float8_is_kept(group.role));
  if (!group.fallback.empty()) {
    add_fallback(group.pattern, group.fallback, unfit(group.members));
    out_ += "\n";
  }
  out_ += fmt::format("[[policies.{}.schemes]]\nformat = \"{}\"\n", toml_quoted_key(group.pattern),
                      group.format);
}

void Writer::add_not_floats() {
  Members members;
  Members scales;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (policy_.choices[i].role == Role::not_float)
      (weights_[i].scale_of.empty() ? members : scales).push_back(i);
  if (!scales.empty())
    out_ += rule() +
            comment(fmt::format("Scales of 8-bit weights: {}. They go with their weights: "
                                "decoding one multiplies by its scale.",
                                summary_.amount(scales))) +
            summary_.lists({scales}).front();
  if (members.empty()) return;
  out_ += rule() + comment(fmt::format("{}: {}. They need no format and are kept as they are.",
                                       role_title(Role::not_float), summary_.amount(members)));
  out_ += summary_.lists({members}).front();
}

/// f16 has 5 exponent bits, bf16 and f32 have 8.
bool Writer::overflow_is_possible() const {
  const auto becomes_f16 = [&](std::size_t i, const std::string& format,
                               const std::string& fallback) {
    const bool falls_back = !fallback.empty() && !policy_.choices[i].fits;
    return (falls_back ? fallback : format) == "f16" && weights_[i].weight.dtype != DType::f16;
  };
  for (const std::size_t i : policy_.root)
    if (becomes_f16(i, policy_.root_format, policy_.root_fallback)) return true;
  for (const StarterGroup& group : policy_.groups)
    for (const std::size_t i : group.members)
      if (becomes_f16(i, group.format, group.fallback)) return true;
  return false;
}

}  // namespace

std::string starter_text(const StarterPolicy& policy, const std::vector<WeightFacts>& weights,
                         const std::string& checkpoint, const CodecRegistry& codecs) {
  return Writer(policy, weights, codecs).write(checkpoint);
}

}  // namespace synps::cli
