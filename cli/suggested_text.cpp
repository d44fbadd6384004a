#include <fmt/core.h>

#include "diff_side.h"
#include "error_rows.h"
#include "starter_summary.h"
#include "suggested_policy.h"
#include "synps/error.h"
#include "synps/policy.h"
#include "text.h"

namespace synps::cli {
namespace {

/// A name within a comment.
std::string shown(const std::string& name) {
  return escape_for_display(name);
}

std::string scheme_text(const std::string& pattern, const SuggestedScheme& scheme) {
  return fmt::format("[[policies.{}.schemes]]\nformat = \"{}\"\n{}", toml_quoted_key(pattern),
                     scheme.format, scheme.is_volatile ? "volatile = true\n" : "");
}

/// What becomes of what the policy does not say.
std::string unsaid(const SuggestedPolicy& policy, const std::string& a) {
  constexpr const char* kKeys = "dtype, device, orientation, order, residency and compression";
  if (policy.of_artifact)
    return fmt::format("Formats only: `synps requantize` leaves {} as {} has them.", kKeys,
                       shown(a));
  return fmt::format("Formats only: {} get their defaults, and are yours to say.", kKeys);
}

std::string head(const SuggestedPolicy& policy, const std::string& a, const std::string& b) {
  const std::size_t worst = policy.worst.size();
  std::string what = fmt::format("Makes of {} what {} is", shown(a), shown(b));
  if (worst == 0)
    what += ".";
  else
    what += fmt::format(
        ", but for the {} with the largest relative error (the lowest signal-to-noise ratio), "
        "which "
        "{} as {} has {}.",
        worst == 1 ? "weight" : fmt::format("{} weights", worst), worst == 1 ? "stays" : "stay",
        shown(a), worst == 1 ? "it" : "them");
  std::string out = comment(what);
  out += "#\n" + comment(unsaid(policy, a));
  const auto note = [&out](std::size_t count, const char* text) {
    if (count != 0) out += "#\n" + comment(fmt::format("{} {}", counted(count, "weight"), text));
  };
  note(policy.only_in_a, "that the latter lacks: no policy takes weights away, and they are kept.");
  note(policy.only_in_b, "that the former lacks: no policy adds weights.");
  note(policy.same_encoding,
       "of other values in the same encoding: no policy makes the ones of the others.");
  for (const std::string& package : policy.packages)
    out += "#\n" + comment(fmt::format("Needs the codec package {}: --package {}=PATH.",
                                       shown(package), shown(package)));
  return out;
}

std::string error_text(const WeightDiff& weight) {
  const std::string stays =
      fmt::format("{} instead of {}", encoding_text(*weight.a), encoding_text(*weight.b));
  if (!weight.has_figures()) return stays + ": other bytes";
  const ErrorFigures& figures = weight.figures;
  std::string out = stays + ":";
  if (figures.relative_error)
    out += fmt::format(" relative error {},", brief_number(*figures.relative_error));
  if (figures.snr_db) out += fmt::format(" SNR {} dB,", snr_text(figures));
  return fmt::format("{} max abs error {}", out, brief_number(figures.max_abs_error));
}

}  // namespace

std::string suggested_text(const SuggestedPolicy& policy, const std::string& a,
                           const std::string& b) {
  std::string out = head(policy, a, b);
  if (!policy.source_formats.empty()) {
    std::string list;
    for (const std::string& name : policy.source_formats)
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
    out += fmt::format("\n[myelin]\n# What is decoded, f32 aside.\nformats = [{}]\n", list);
  }
  out += "\n" + comment(fmt::format("What nothing below names: {}.",
                                    counted(policy.root_weights, "weight")));
  out += scheme_text("*", policy.root);
  for (const SuggestedGroup& group : policy.groups) {
    out += "\n";
    if (group.weights > 1) out += comment(counted(group.weights, "weight") + ".");
    out += scheme_text(group.pattern, group.scheme);
  }
  if (policy.worst.empty()) return out;
  out += "\n" + comment(policy.worst.size() == 1 ? "The worst weight." : "The worst weights.");
  for (std::size_t i = 0; i < policy.worst.size(); ++i)
    out += "\n" + comment(error_text(*policy.worst[i])) +
           scheme_text(policy.worst_groups[i].pattern, policy.worst_groups[i].scheme);
  return out;
}

}  // namespace synps::cli
