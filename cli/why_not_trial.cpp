#include "why_not_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string_view>
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

/// A policy that the file, changed or extended, comes to; where the addition is in it.
struct Changed {
  std::optional<Policy> policy;
  std::string file;             ///< that has the addition
  std::uint32_t last_line = 0;  ///< the addition comes after it
};

Changed appended(const std::string& toml, const Policy& policy, const PolicyInput& input) {
  const std::string before = text_of(policy.file());
  Changed out;
  out.policy = Policy::parse(before + "\n" + toml, policy.file(), *input.codecs, input.options);
  out.file = policy.file();
  out.last_line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  return out;
}

/// A policy in the folder of the file that extends it: schemes of the same pattern and claim
/// replace its own.
Changed extended(const std::string& toml, const Policy& policy, const PolicyInput& input) {
  const fs::path path(policy.file());
  // A link may lead out of the folder, where only a whole path may.
  std::error_code ignored;
  const std::string base =
      fs::is_symlink(path, ignored) ? fs::absolute(path).string() : path.filename().string();
  Changed out;
  out.file = (path.parent_path() / "(pasted)").string();
  out.policy = Policy::parse(fmt::format("extends = {}\n\n{}", toml_quoted_key(base), toml),
                             out.file, *input.codecs, input.options);
  return out;
}

/// `text` with "line 12" and "line 12 of FILE" of the addition as "the new scheme".
std::string without_new_places(std::string_view text, const Changed& changed) {
  constexpr std::string_view kLine = "line ";
  const bool only_file = changed.policy->files().size() == 1;
  const std::string of = " of " + escape_for_display(changed.file);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, kLine.size()) == kLine) {
      std::uint32_t line = 0;
      const auto [end, error] =
          std::from_chars(text.data() + at + kLine.size(), text.data() + text.size(), line);
      std::size_t after = static_cast<std::size_t>(end - text.data());
      const bool named = text.substr(after, of.size()) == of;
      if (named) after += of.size();
      if (error == std::errc() && line > changed.last_line && (named || only_file)) {
        out += "the new scheme";
        at = after;
        continue;
      }
    }
    out += text[at++];
  }
  return out;
}

/// Nobody has seen the addition, so places in it help nobody.
Problem as_said(Problem problem, const Changed& changed) {
  if (problem.file == changed.file && problem.line > changed.last_line) {
    problem.line = problem.column = 0;
    problem.file.clear();
  }
  problem.what = without_new_places(problem.what, changed);
  problem.found = without_new_places(problem.found, changed);
  problem.hint = without_new_places(problem.hint, changed);
  return problem;
}

std::vector<Problem> new_problems(const Changed& changed, const Policy& before,
                                  const std::vector<WeightFacts>& weights) {
  std::vector<Problem> found = problems_with(*changed.policy, weights);
  if (found.empty()) return found;
  std::set<ProblemKind> known;
  for (const Problem& problem : problems_with(before, weights)) known.insert(kind_of(problem));
  std::vector<Problem> out;
  for (Problem& problem : found)
    if (known.insert(kind_of(problem)).second) out.push_back(as_said(std::move(problem), changed));
  return out;
}

/// A policy that says nothing to anybody, and that no file has.
std::string harmless(const Policy& policy) {
  std::string name = "x";
  const auto taken = [&](const PolicyEntry& entry) { return entry.pattern.text() == name; };
  while (std::any_of(policy.entries().begin(), policy.entries().end(), taken)) name += 'x';
  return fmt::format("[policies.{}]\noptional = true\n", name);
}

}  // namespace

Trial try_paste(const std::string& declaration, const Paste& paste, const Policy& policy,
                const std::vector<WeightFacts>* weights, const PolicyInput& input) {
  Trial trial;
  const bool adds = paste.replaces.empty();
  const std::string at_end = adds ? paste.toml : harmless(policy);
  trial.fits_at_end = fault_of_appending(at_end, policy, input).empty();
  Changed changed;
  const std::string whole = declaration + (declaration.empty() ? "" : "\n");
  try {
    if (adds && fault_of_appending(whole + paste.toml, policy, input).empty())
      changed = appended(whole + paste.toml, policy, input);
    else
      changed = extended(whole + paste.extension, policy, input);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    trial.fault = error.problems().front().what;
    return trial;
  }
  if (weights != nullptr) trial.problems = new_problems(changed, policy, *weights);
  trial.policy = std::move(changed.policy);
  return trial;
}

std::string fault_of_appending(const std::string& toml, const Policy& policy,
                               const PolicyInput& input) {
  try {
    appended(toml, policy, input);
    return {};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return to_string(error.problems().front());
  }
}

bool is_stored_as(const Explanation& explanation, const std::string& format) {
  const WeightResolution& resolution = explanation.resolution;
  const bool keeps = resolution.keep || (explanation.bytes && explanation.form.encoding.kind ==
                                                                  Encoding::Kind::keep_as_stored);
  if (format == CodecRef::keep().name) return keeps;
  if (!explanation.facts)
    return resolution.codec != nullptr && resolution.codec->info().id() == format;
  if (explanation.stored_codec != format) return false;
  return keeps || (source_codec(explanation.policy->codecs(), *explanation.facts) != nullptr &&
                   explanation.policy->declares(explanation.facts->encoding));
}

}  // namespace synps::cli
