#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "inputs.h"
#include "json_text.h"
#include "options.h"
#include "pairs_table.h"
#include "standard_streams.h"
#include "synps/json_writer.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "The names are what a policy's `format` and `fallback` take. \"Exact for\" lists the dtypes\n"
    "whose every value a codec gives back.\n"
    "\n"
    "Examples:\n"
    "  synps codecs\n"
    "  synps codecs --package q8_row=./q8_row.so     and those of a codec package\n"
    "  synps codecs --pairs                          what repack and requantize make of each\n"
    "  synps codecs --json";

struct Options {
  std::vector<std::string> packages;
  bool pairs = false;
  bool json = false;
};

std::string exact_names(const CodecInfo& info) {
  std::string names;
  for (const DType dtype : info.exact) {
    if (!names.empty()) names += ", ";
    names += encoding_name(dtype);
  }
  return names.empty() ? "none" : names;
}

std::string codecs_text(const CodecRegistry& codecs, std::size_t width) {
  using enum Table::Align;
  Table table({{"NAME", left}, {"BITS/WEIGHT", right}, {"DENSE", left}, {"SUMMARY", left}});
  for (const Codec* codec : codecs.all()) {
    const CodecInfo& info = codec->info();
    table.add({CodecRegistry::short_name(info), fmt::format("{:.4g}", info.bits_per_weight),
               info.dense ? "yes" : "no", info.summary});
    table.add({"", "", "", "exact for: " + exact_names(info)});
    if (!info.file.empty())
      table.add({"", "", "", "package file: " + escape_for_display(info.file)});
  }
  return table.render(width);
}

std::string codecs_json(const CodecRegistry& codecs) {
  JsonWriter json;
  json.begin_object().key("codecs").begin_array();
  for (const Codec* codec : codecs.all()) {
    const CodecInfo& info = codec->info();
    json.begin_object().key("codec").string(info.id());
    json.key("name").string(CodecRegistry::short_name(info));
    json.key("file");
    string_or_null(json, info.file);
    json.key("revision").integer(info.revision);
    json.key("bits_per_weight").number(info.bits_per_weight);
    json.key("dense").boolean(info.dense);
    json.key("encodes").boolean(info.encodes);
    json.key("exact").begin_array();
    for (const DType dtype : info.exact) json.string(encoding_name(dtype));
    json.end_array().key("error_bound").string(utf8(info.error_bound));
    json.key("summary").string(utf8(info.summary)).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

int run(const Options& options) {
  const CodecRegistry codecs = registry_with(options.packages);
  if (options.pairs)
    write_output(options.json ? pairs_json(codecs) : pairs_table(codecs));
  else
    write_output(options.json ? codecs_json(codecs) : codecs_text(codecs, output_width()));
  return 0;
}

}  // namespace

Command make_codecs(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add_command(program, "codecs", "List the codecs that there are", kFooter);
  add_package_option(command, options->packages);
  add_flag(command, "--pairs", options->pairs,
           "What encoding by one codec what another stores does to values, as Markdown");
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
