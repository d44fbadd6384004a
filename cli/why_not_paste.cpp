#include "why_not_paste.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/file.h"
#include "synps/plan.h"

namespace synps::cli {
namespace {

namespace fs = std::filesystem;

bool decides(const SchemeVerdict& verdict) noexcept {
  return verdict.outcome == SchemeVerdict::Outcome::chosen ||
         verdict.outcome == SchemeVerdict::Outcome::agrees;
}

bool covers_no_more(const PathPattern& pattern, const PathPattern& literal) {
  try {
    return literal.compare(pattern) == Inclusion::equal;
  } catch (const Error&) {
    return false;  // too complex to compare: no pattern of one path is
  }
}

std::string format_name(const Policy& policy, const std::string& format) {
  const Codec* codec = policy.codecs().resolve(format);
  if (codec == nullptr) return format;
  std::string name = CodecRegistry::short_name(codec->info());
  return policy.codecs().resolve(name) == codec ? name : format;
}

/// The fields that differ from what a scheme infers, and the format.
std::string scheme_text(const std::string& pattern, const Scheme& scheme) {
  const bool constant = scheme.scope == Scope::constant;
  std::string out = fmt::format("[[policies.{}.schemes]]\n", toml_quoted_key(pattern));
  if (!constant) out += fmt::format("scope = \"{}\"\n", to_string(scheme.scope));
  if (scheme.lifetime != (constant ? Lifetime::immutable : Lifetime::invocation))
    out += fmt::format("lifetime = \"{}\"\n", to_string(scheme.lifetime));
  if (scheme.update != (constant ? Update::none : Update::whole))
    out += fmt::format("update = \"{}\"\n", to_string(scheme.update));
  out += fmt::format("format = {}\n", toml_quoted_key(scheme.format));
  if (scheme.is_volatile) out += "volatile = true\n";
  return out;
}

void add_place(const SourcePlace& place, std::vector<SourcePlace>& places) {
  if (std::find(places.begin(), places.end(), place) != places.end()) return;
  places.push_back(place);
  std::sort(places.begin(), places.end(), [](const SourcePlace& a, const SourcePlace& b) {
    return std::tie(a.source, a.line) < std::tie(b.source, b.line);
  });
}

/// What makes one problem another: where it is and what kind. Numbers of weights may differ.
using ProblemKind = std::tuple<std::string, std::uint32_t, std::uint32_t, std::string, std::string>;

ProblemKind kind_of(const Problem& problem) {
  return {problem.file, problem.line, problem.column, problem.field,
          problem.what.substr(0, problem.what.find(':'))};
}

std::vector<Problem> problems_with(const Policy& policy, const std::vector<WeightFacts>& weights) {
  try {
    policy.resolve(weights, {.allow_unmatched = true});
    return {};
  } catch (const Error& error) {
    return error.problems();
  }
}

std::string text_of(const std::string& file) {
  const std::vector<std::byte> bytes = InputFile(Os::posix(), file, ErrorCode::policy).read_all();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

/// A policy `name`, in the folder of `file`, that extends it by `toml`.
Policy extended(const std::string& name, const std::string& file, const std::string& toml,
                const PolicyInput& input) {
  const fs::path path(file);
  // A link may lead out of the folder, where only a whole path may.
  std::error_code ignored;
  const std::string base =
      fs::is_symlink(path, ignored) ? fs::absolute(path).string() : path.filename().string();
  return Policy::parse(fmt::format("extends = {}\n\n{}", toml_quoted_key(base), toml), name,
                       *input.codecs, input.options);
}

}  // namespace

void add_scheme(const Policy& policy, const Value& value, const WeightResolution& resolution,
                const std::string& format, Paste& paste) {
  Scheme scheme{value.scope, value.lifetime};
  scheme.update = value.scope == Scope::constant ? Update::none : Update::whole;
  if (resolution.scheme) {
    scheme.update = resolution.scheme->update;
    scheme.is_volatile = resolution.scheme->is_volatile;
  }
  if (value.scope == Scope::constant) scheme.update = Update::none;
  if (value.scope != Scope::constant) scheme.is_volatile = false;
  scheme.format = format_name(policy, format);

  // The path itself is narrower than every policy that covers it, but for one of just these paths:
  // that one can only say something else, or say it of this value more specifically.
  std::string pattern = PathPattern::literal(value.path);
  const PathPattern literal = PathPattern::parse(pattern);
  for (const SchemeVerdict& verdict : resolution.schemes) {
    if (!decides(verdict) || !covers_no_more(verdict.policy->pattern, literal)) continue;
    pattern = verdict.policy->pattern.text();
    const Scheme& old = verdict.scheme->scheme;
    const bool inherited = verdict.scheme->place.source != 0;  // saying it again replaces that
    if (old.scope == value.scope && old.lifetime == value.lifetime && !inherited)
      add_place(verdict.scheme->place, paste.replaces);
  }
  if (!paste.toml.empty()) paste.toml += '\n';
  paste.toml += scheme_text(pattern, scheme);
}

bool is_stored_as(const Explanation& explanation, const std::string& format) {
  const WeightResolution& resolution = explanation.resolution;
  const bool keeps = resolution.keep || (explanation.bytes && explanation.form.encoding.kind ==
                                                                  Encoding::Kind::keep_as_stored);
  if (format == CodecRef::keep().name) return keeps;
  if (!explanation.facts)
    return resolution.codec != nullptr && resolution.codec->info().id() == format;
  if (explanation.stored_codec != format) return false;
  return keeps ||
         (explanation.policy->codecs().for_dtype(explanation.facts->weight.dtype) != nullptr &&
          explanation.policy->declares(explanation.facts->encoding));
}

Trial try_with(const std::string& toml, const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input) {
  Trial trial;
  const std::string& file = explanation.policy->file();
  trial.file = (fs::path(file).parent_path() / "(pasted)").string();
  try {
    const Policy policy = extended(trial.file, file, toml, input);
    trial.reached = is_stored_as(explain_value(policy, explanation.value, checkpoint), format);
    if (checkpoint == nullptr) return trial;
    const std::vector<WeightFacts> weights = weight_facts(*checkpoint);
    std::set<ProblemKind> known;
    for (const Problem& problem : problems_with(*explanation.policy, weights))
      known.insert(kind_of(problem));
    for (Problem& problem : problems_with(policy, weights))
      if (known.insert(kind_of(problem)).second) trial.problems.push_back(std::move(problem));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    trial.problems = error.problems();
  }
  return trial;
}

std::string fault_of_appending(const std::string& toml, const Policy& policy,
                               const PolicyInput& input) {
  try {
    Policy::parse(text_of(policy.file()) + "\n" + toml, policy.file(), *input.codecs,
                  input.options);
    return {};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return to_string(error.problems().front());
  }
}

}  // namespace synps::cli
