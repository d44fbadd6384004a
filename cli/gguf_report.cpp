#include "gguf_report.h"

#include <fmt/core.h>

#include "synps/error.h"
#include "synps/gguf.h"
#include "text.h"

namespace synps::cli {
namespace {

/// Of a value that is changed or dropped, which is a number in any sound file.
constexpr GgufJsonLimits kShown{4, 60};

void write_source_value(JsonWriter& json, const Checkpoint& checkpoint, std::size_t index) {
  const SourceKeyValue& source = checkpoint.key_values()[index];
  GgufValueReader(checkpoint.files()[source.file]).write(json, source.value, kShown);
}

std::string source_value(const Checkpoint& checkpoint, std::size_t index) {
  JsonWriter json;
  write_source_value(json, checkpoint, index);
  return escape_for_display(json.take());
}

std::string change_text(const Checkpoint& checkpoint, const GgufChange& change) {
  const std::string key = escape_for_display(change.key);
  if (!change.from) return fmt::format("  {} = {}, added\n", key, *change.to);
  const std::string from = source_value(checkpoint, *change.from);
  if (!change.to) return fmt::format("  {} = {}, removed\n", key, from);
  return fmt::format("  {} = {} -> {}\n", key, from, *change.to);
}

std::string not_carried_text(const NotCarried& each) {
  const std::string example = escape_for_display(each.example);
  if (each.key == "values")
    return fmt::format("  {} of other values than weights, such as under {}\n",
                       counted(each.count, "scheme"), example);
  const std::string what = each.value.empty()
                               ? each.key
                               : fmt::format("{} {}", each.key, escape_for_display(each.value));
  return fmt::format("  {} of {}, such as {}\n", what, counted(each.count, "weight"), example);
}

}  // namespace

std::string gguf_text(const WeightReport& report) {
  if (report.gguf == nullptr) return {};
  const GgufPlan& gguf = *report.gguf;
  std::string changes;
  if (gguf.source_version != kGgufVersion)
    changes += fmt::format("  GGUF version {} -> {}\n", gguf.source_version, kGgufVersion);
  for (const GgufChange& change : gguf.changes) changes += change_text(*report.checkpoint, change);
  std::string out = changes.empty() ? "\nkey-values: all as in the source\n"
                                    : "\nkey-values as in the source, but for:\n" + changes;
  if (gguf.not_carried.empty()) return out;
  out += "\nnot in a GGUF file, and asked for:\n";
  for (const NotCarried& each : gguf.not_carried) out += not_carried_text(each);
  return out;
}

void write_gguf(JsonWriter& json, const WeightReport& report) {
  const GgufPlan& gguf = *report.gguf;
  json.begin_object();
  json.key("version").integer(kGgufVersion);
  json.key("source_version").integer(gguf.source_version);
  json.key("alignment").integer(gguf.alignment);
  json.key("changes").begin_array();
  for (const GgufChange& change : gguf.changes) {
    json.begin_object().key("key").string(change.key).key("from");
    change.from ? write_source_value(json, *report.checkpoint, *change.from)
                : static_cast<void>(json.null());
    json.key("to");
    change.to ? json.integer(*change.to) : json.null();
    json.end_object();
  }
  json.end_array().key("not_carried").begin_array();
  for (const NotCarried& each : gguf.not_carried) {
    json.begin_object().key("key").string(each.key).key("value");
    each.value.empty() ? json.null() : json.string(each.value);
    json.key("count").integer(each.count).key("example").string(each.example).end_object();
  }
  json.end_array().end_object();
}

}  // namespace synps::cli
