#include "check_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "failures.h"
#include "json_text.h"
#include "source_excerpt.h"
#include "synps/error.h"
#include "synps/json_writer.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr std::size_t kIndent = 4;
constexpr std::size_t kHintIndent = 8;
/// Code points of a line that JSON repeats for each of its problems.
constexpr std::size_t kTextPoints = 400;

std::string finding_text(std::string_view kind, Problem problem, SourceLines& lines,
                         std::size_t width) {
  const std::string hint = std::move(problem.hint);
  problem.hint.clear();
  const std::string file = std::move(problem.file);
  problem.file.clear();
  std::string out = escape_for_display(file);
  if (problem.line != 0) out += fmt::format(":{}", problem.line);
  if (problem.line != 0 && problem.column != 0) out += fmt::format(":{}", problem.column);
  out = wrapped(fmt::format("{}: {}: {}", out, kind, to_string(problem)), width, kIndent) + "\n";
  if (const auto line = lines.part(file, problem.line, problem.column, width))
    out += excerpt(*line, problem.line, width);
  if (!hint.empty())
    out += "  hint: " + wrapped(escape_for_display(hint), width, kHintIndent, kHintIndent) + "\n";
  return out;
}

std::string findings_text(std::string_view kind, const std::vector<Problem>& findings, bool all,
                          SourceLines& lines, std::size_t width) {
  std::string out;
  const std::size_t shown = all ? findings.size() : std::min(findings.size(), kShownProblems);
  for (std::size_t i = 0; i < shown; ++i)
    out += finding_text(kind, findings[i], lines, width) + "\n";
  if (shown < findings.size())
    out += fmt::format("... and {}; --all shows them\n\n",
                       counted(findings.size() - shown, fmt::format("more {}", kind)));
  return out;
}

std::string_view naming_text(SourceEncoding::Naming naming) noexcept {
  using enum SourceEncoding::Naming;
  switch (naming) {
    case not_needed:
      return "kept as stored";
    case open:
      return "open";
    case named:
      return "named";
    case missing:
      return "not named";
    case undecodable:
      return "no codec decodes it";
  }
  return "";
}

std::string encodings_text(const CheckReport& report, std::size_t width) {
  if (report.encodings.empty()) return {};
  using enum Table::Align;
  Table table({{"SOURCE", left}, {"WEIGHTS", right}, {"POLICY", left}});
  for (const SourceEncoding& encoding : report.encodings)
    table.add({short_codec(encoding.name), grouped(encoding.weights),
               std::string(naming_text(encoding.naming))});
  return table.render(width) + "\n";
}

/// "12 policies", "1 policy".
std::string counted_policies(std::size_t count) {
  return count == 1 ? "1 policy" : grouped(count) + " policies";
}

std::string scale_text(const CheckReport& report) {
  std::string text = counted_policies(report.check->policy->entries().size());
  if (const std::size_t groups = report.check->policy->groups().size(); groups != 0)
    text += ", " + counted(groups, "group");
  if (report.weights)
    return text + fmt::format("; {} of {}", counted(*report.weights, "weight"),
                              escape_for_display(report.checkpoint));
  return text + "; not held against a checkpoint";
}

std::string summary_text(const CheckReport& report) {
  const std::size_t problems = report.check->problems.size();
  const std::size_t warnings = report.check->warnings.size();
  std::string text = escape_for_display(report.file) + ": ";
  text += problems == 0 ? "no problems" : counted(problems, "problem");
  if (warnings != 0) text += ", " + counted(warnings, "warning");
  if (problems == 0 && warnings != 0 && report.strict) text += " that --strict refuses";
  if (report.check->policy) return text + fmt::format(" ({})\n", scale_text(report));
  if (report.checkpoint.empty()) return text + " (not held against a checkpoint)\n";
  return text + fmt::format(" (of {}, only the patterns were looked at)\n",
                            escape_for_display(report.checkpoint));
}

void string_or_null(JsonWriter& json, std::string_view name, const std::string& text) {
  cli::string_or_null(json.key(name), text);
}

void number_or_null(JsonWriter& json, std::string_view name, std::uint32_t number) {
  json.key(name);
  number == 0 ? json.null() : json.integer(number);
}

void write_findings(JsonWriter& json, const std::vector<Problem>& findings, SourceLines& lines) {
  json.begin_array();
  for (const Problem& problem : findings) {
    json.begin_object();
    string_or_null(json, "file", problem.file);
    number_or_null(json, "line", problem.line);
    number_or_null(json, "column", problem.column);
    json.key("code").integer(static_cast<std::uint64_t>(problem.code));
    json.key("what").string(utf8(problem.what));
    string_or_null(json, "field", problem.field);
    string_or_null(json, "found", problem.found);
    string_or_null(json, "want", problem.want);
    string_or_null(json, "hint", problem.hint);
    json.key("text");
    const auto line = lines.part(problem.file, problem.line, problem.column, kTextPoints / 2);
    line ? json.string(utf8(line->text())) : json.null();
    json.end_object();
  }
  json.end_array();
}

std::string_view naming_name(SourceEncoding::Naming naming) noexcept {
  using enum SourceEncoding::Naming;
  switch (naming) {
    case not_needed:
      return "not_needed";
    case open:
      return "open";
    case named:
      return "named";
    case missing:
      return "missing";
    case undecodable:
      return "undecodable";
  }
  return "";
}

void write_encodings(JsonWriter& json, const CheckReport& report) {
  json.begin_array();
  for (const SourceEncoding& encoding : report.encodings) {
    json.begin_object().key("source").string(encoding.name);
    json.key("weights").integer(encoding.weights);
    json.key("naming").string(naming_name(encoding.naming)).end_object();
  }
  json.end_array();
}

}  // namespace

std::string check_text(const CheckReport& report, bool all, std::size_t width) {
  SourceLines lines;
  std::string out = findings_text("error", report.check->problems, all, lines, width) +
                    findings_text("warning", report.check->warnings, all, lines, width);
  if (report.plan) out += codec_totals_text(*report.plan, width) + "\n";
  if (!report.fallbacks.empty()) out += fallbacks_text(report.fallbacks, width) + "\n";
  out += encodings_text(report, width);
  return out + summary_text(report);
}

std::string check_json(const CheckReport& report) {
  SourceLines lines;
  const PolicyCheck& check = *report.check;
  JsonWriter json;
  json.begin_object().key("file").string(utf8(report.file));
  json.key("ok").boolean(report.code() == 0);
  json.key("problems");
  write_findings(json, check.problems, lines);
  json.key("warnings");
  write_findings(json, check.warnings, lines);
  json.key("codecs");
  if (report.plan)
    write_codec_totals(json, *report.plan);
  else
    json.begin_array().end_array();
  json.key("fallbacks");
  write_fallbacks(json, report.fallbacks);
  json.key("encodings");
  write_encodings(json, report);
  json.key("policies");
  check.policy ? json.integer(check.policy->entries().size()) : json.null();
  json.key("groups");
  check.policy ? json.integer(check.policy->groups().size()) : json.null();
  json.key("weights");
  report.weights ? json.integer(*report.weights) : json.null();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
