#include "verify_output.h"

#include <fmt/core.h>

#include <vector>

#include "error_rows.h"
#include "shard_list.h"
#include "synps/error.h"
#include "synps/json_writer.h"
#include "text.h"

namespace synps::cli {
namespace {

/// The weights that are not equal to their source. Those that nothing decodes are problems.
std::vector<ErrorItem> error_items(const VerifyReport& report) {
  std::vector<ErrorItem> items;
  for (const WeightError& error : report.weights)
    if (!error.exact && error.has_figures())
      items.push_back(
          {error.path, {short_codec(error.codec)}, static_cast<const ErrorFigures&>(error)});
  return items;
}

/// How many weights of each kind there are, and how many of them are equal to their source.
std::string comparison_text(const VerifyReport& report, const std::string& against) {
  std::uint64_t exact = 0;
  std::uint64_t lossless = 0;
  std::uint64_t lossless_exact = 0;
  for (const WeightError& error : report.weights) {
    exact += error.exact ? 1 : 0;
    lossless += error.lossless ? 1 : 0;
    lossless_exact += error.lossless && error.exact ? 1 : 0;
  }
  std::string out = fmt::format("compared with {}: {}\n", escape_for_display(against),
                                counted(report.weights.size(), "weight"));
  out += fmt::format("  lossless  {}", grouped(lossless));
  if (lossless != 0)
    out += fmt::format(", {} equal bit for bit",
                       lossless == lossless_exact ? "all" : grouped(lossless_exact));
  out += "\n";
  const std::uint64_t lossy = report.weights.size() - lossless;
  out += fmt::format("  lossy     {}", grouped(lossy));
  if (exact != lossless_exact)
    out += fmt::format(", {} equal bit for bit all the same", grouped(exact - lossless_exact));
  return out + "\n";
}

}  // namespace

std::string verify_text(const VerifyReport& report, const std::string& artifact,
                        const std::string& against, bool all, std::size_t width) {
  std::string out = escape_for_display(artifact);
  if (report.ok())
    out +=
        fmt::format(": ok, {} {}\n", exact_bytes(report.bytes),
                    report.has_checksums ? "checked" : "of sound structure; GGUF has no checksums");
  else
    out += fmt::format(": not ok, {}\n", counted(report.problems.size(), "problem"));
  if (report.has_checksums) out += part_text(artifact, 7);
  if (against.empty() || report.weights.empty()) return out;
  out += comparison_text(report, against);
  const std::vector<ErrorRow> rows = error_rows(error_items(report), all);
  if (rows.empty()) return out;
  out += all ? "\n"
             : "\nBy pattern, the worst first; each column has the worst of a pattern's weights:\n";
  return out + error_table(rows, {"CODEC"}, all, width);
}

std::string place_of(const Problem& problem) {
  std::string place = problem.field;
  if (problem.offset) {
    if (!place.empty()) place += ", ";
    place += fmt::format("offset {}", *problem.offset);
  }
  return place.empty() ? problem.file : place;
}

std::string verify_json(const VerifyReport& report) {
  JsonWriter json;
  json.begin_object().key("ok").boolean(report.ok());
  json.key("bytes").integer(report.bytes);
  json.key("checksums").boolean(report.has_checksums);
  json.key("problems").begin_array();
  for (const Problem& problem : report.problems) {
    json.begin_object().key("where").string(escape_for_display(place_of(problem)));
    json.key("what").string(to_string(problem)).end_object();
  }
  json.end_array().key("weights").begin_array();
  for (const WeightError& error : report.weights) {
    json.begin_object().key("path").string(error.path);
    json.key("codec").string(error.codec);
    json.key("source").string(error.source);
    json.key("lossless").boolean(error.lossless);
    json.key("exact").boolean(error.exact);
    json.key("decoded").boolean(error.compared);
    json.key("bytes").integer(error.bytes);
    write_figures(json, error.has_figures() ? &error : nullptr);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
