#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "commands.h"
#include "inputs.h"
#include "standard_streams.h"
#include "synps/builtin_codecs.h"
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
    "  synps codecs --json";

std::string exact_names(const CodecInfo& info) {
  std::string names;
  for (const DType dtype : info.exact) {
    if (!names.empty()) names += ", ";
    names += encoding_name(dtype);
  }
  return names.empty() ? "none" : names;
}

std::string codecs_text(std::size_t width) {
  using enum Table::Align;
  Table table({{"NAME", left}, {"BITS/WEIGHT", right}, {"DENSE", left}, {"SUMMARY", left}});
  for (const Codec* codec : builtin_registry().all()) {
    const CodecInfo& info = codec->info();
    table.add({CodecRegistry::short_name(info), fmt::format("{:.4g}", info.bits_per_weight),
               info.dense ? "yes" : "no", info.summary});
    table.add({"", "", "", "exact for: " + exact_names(info)});
  }
  return table.render(width);
}

std::string codecs_json() {
  JsonWriter json;
  json.begin_object().key("codecs").begin_array();
  for (const Codec* codec : builtin_registry().all()) {
    const CodecInfo& info = codec->info();
    json.begin_object().key("codec").string(info.id());
    json.key("name").string(CodecRegistry::short_name(info));
    json.key("revision").integer(info.revision);
    json.key("bits_per_weight").number(info.bits_per_weight);
    json.key("dense").boolean(info.dense);
    json.key("encodes").boolean(info.encodes);
    json.key("exact").begin_array();
    for (const DType dtype : info.exact) json.string(encoding_name(dtype));
    json.end_array().key("error_bound").string(info.error_bound);
    json.key("summary").string(info.summary).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace

Command make_codecs(CLI::App& program, const CommonOptions&) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("codecs", "List the codecs that there are");
  command->footer(kFooter);
  add_json_option(*command, *json);
  return {command, [json] {
            write_output(*json ? codecs_json() : codecs_text(output_width()));
            return 0;
          }};
}

}  // namespace synps::cli
