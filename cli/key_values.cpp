#include "key_values.h"

#include <fmt/core.h>

#include <memory>
#include <string_view>

#include "synps/error.h"
#include "text.h"

namespace synps::cli {
namespace {

using Carried = SourceKeyValue::Carried;

constexpr GgufJsonLimits kForPeople{4, 60};
constexpr GgufJsonLimits kForPrograms{64, 1 << 16};

/// Reads values of any of the checkpoint's files, best in their sequence.
class Values {
 public:
  explicit Values(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  void write(JsonWriter& json, const SourceKeyValue& each, const GgufJsonLimits& limits) {
    if (reader_ == nullptr || file_ != each.file) {
      file_ = each.file;
      reader_ = std::make_unique<GgufValueReader>(checkpoint_.files()[file_]);
    }
    reader_->write(json, each.value, limits);
  }

 private:
  const Checkpoint& checkpoint_;
  std::size_t file_ = 0;
  std::unique_ptr<GgufValueReader> reader_;
};

bool is_array(const GgufKeyValue& value) noexcept {
  return value.type == GgufValueType::array;
}

/// "uint32", "string of 5,120 bytes", "string[32,000]".
std::string type_text(const GgufKeyValue& value) {
  if (is_array(value)) return fmt::format("{}[{}]", to_string(value.items), grouped(value.count));
  if (value.type == GgufValueType::string && value.count > kForPeople.string)
    return fmt::format("string of {} bytes", grouped(value.count));
  return std::string(to_string(value.type));
}

std::string_view carried_text(Carried carried, bool to_gguf) noexcept {
  if (to_gguf) return carried == Carried::dropped ? "; not in the output" : "";
  return carried == Carried::entry     ? "; a tensor of its own in an artifact"
         : carried == Carried::dropped ? "; not in an artifact"
                                       : "";
}

std::string_view carried_name(Carried carried, bool to_gguf) noexcept {
  if (to_gguf && carried != Carried::dropped) return "key_value";
  return carried == Carried::entry ? "entry" : carried == Carried::dropped ? "dropped" : "metadata";
}

bool is_folded(const GgufKeyValue& value, const GgufJsonLimits& limits) noexcept {
  if (value.type == GgufValueType::string) return value.count > limits.string;
  return is_array(value) && (value.count > limits.items || value.bytes > limits.string);
}

}  // namespace

std::string key_values_text(const Checkpoint& checkpoint, bool to_gguf) {
  if (checkpoint.gguf_version() == 0) return {};
  std::string out = fmt::format("\n{}{} (GGUF version {}):\n",
                                counted(checkpoint.key_values().size(), "key-value"),
                                to_gguf ? " of the source" : "", checkpoint.gguf_version());
  Values values(checkpoint);
  for (const SourceKeyValue& each : checkpoint.key_values()) {
    JsonWriter json;
    values.write(json, each, kForPeople);
    std::string text = escape_for_display(json.take());
    if (is_array(each.value) && each.value.count > kForPeople.items) {
      text.pop_back();
      text += ", …]";
    }
    out += fmt::format("  {} = {} ({}{})\n", escape_for_display(each.value.key), text,
                       type_text(each.value), carried_text(each.carried, to_gguf));
  }
  return out;
}

void write_key_values(JsonWriter& json, const Checkpoint& checkpoint, bool to_gguf) {
  json.begin_array();
  Values values(checkpoint);
  for (const SourceKeyValue& each : checkpoint.key_values()) {
    const GgufKeyValue& value = each.value;
    json.begin_object().key("key").string(value.key);
    json.key("type").string(to_string(value.type));
    if (is_array(value)) json.key("items").string(to_string(value.items));
    if (is_array(value)) json.key("count").integer(value.count);
    json.key("value");
    values.write(json, each, kForPrograms);
    json.key("folded").boolean(is_folded(value, kForPrograms));
    json.key("carried").string(carried_name(each.carried, to_gguf)).end_object();
  }
  json.end_array();
}

}  // namespace synps::cli
