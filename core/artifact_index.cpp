#include "synps/artifact_index.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "synps/json_writer.h"

namespace synps {
namespace {

/// Values stored once and referred to by number, in the order of their first use.
class Table {
 public:
  std::uint64_t number(std::string json) {
    const auto [at, is_new] = numbers_.emplace(std::move(json), rows_.size());
    if (is_new) rows_.push_back(&at->first);
    return at->second;
  }
  void write(std::string& out) const {
    out += '[';
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i != 0) out += ',';
      out += *rows_[i];
    }
    out += ']';
  }

 private:
  std::map<std::string, std::uint64_t> numbers_;
  std::vector<const std::string*> rows_;  // keys of numbers_, whose addresses stay
};

std::string json_of(const CodecRef& codec) {
  JsonWriter json;
  json.begin_object();
  json.key("name").string(codec.name);
  json.key("package").string(codec.package);
  json.key("revision").integer(codec.revision);
  return json.end_object().take();
}

std::string json_of(const SharedList<Decision>& decisions) {
  JsonWriter json;
  json.begin_array();
  for (const Decision& decision : decisions)
    json.begin_array().string(decision.key).string(decision.pattern).end_array();
  return json.end_array().take();
}

std::string json_of(const FormRequest& asked, const WeightForm& form) {
  JsonWriter json;
  json.begin_object();
  json.key("asked").begin_object();
  json.key("compress").string(to_string(asked.compress));
  json.key("order").string(to_string(asked.order));
  json.key("residency").string(to_string(asked.residency));
  json.end_object();
  json.key("encoding").string(to_string(form.encoding));
  json.key("order").string(to_string(form.order));
  json.key("orientation").string(to_string(form.orientation));
  json.key("residency").string(to_string(form.residency));
  return json.end_object().take();
}

std::string json_of(const Scheme& scheme) {
  JsonWriter json;
  json.begin_object();
  json.key("format").string(scheme.format);
  json.key("lifetime").string(to_string(scheme.lifetime));
  json.key("scope").string(to_string(scheme.scope));
  json.key("update").string(to_string(scheme.update));
  json.key("volatile").boolean(scheme.is_volatile);
  return json.end_object().take();
}

void write_shape(JsonWriter& json, const Shape& shape) {
  json.begin_array();
  for (const std::uint64_t extent : shape.extents()) json.integer(extent);
  json.end_array();
}

/// A number that is known only after packing has a fixed width, so that room can be kept for it.
void write_size(JsonWriter& json, const StoredComponent& stored, std::uint64_t size) {
  if (stored.compressed())
    json.string(fmt::format("{:016x}", size));
  else
    json.integer(size);
}

void write_component(JsonWriter& json, const StoredComponent& stored) {
  json.begin_object();
  json.key("bytes").integer(stored.component.bytes);
  json.key("chunk_bytes").integer(stored.chunk_bytes);
  json.key("chunk_rows").integer(stored.chunk_rows);
  json.key("compression").string(to_string(stored.compression));
  json.key("digest").integer(stored.first_digest);
  json.key("dtype").string(dtype_name(stored.component.dtype));
  json.key("entry").string(stored.entry);
  json.key("name").string(stored.component.name);
  json.key("offset");
  write_size(json, stored, stored.offset);
  json.key("order").string(to_string(stored.order));
  json.key("per_weight").boolean(stored.component.per_weight);
  json.key("shape");
  write_shape(json, stored.component.shape);
  json.key("stored_bytes");
  write_size(json, stored, stored.stored_bytes);
  json.end_object();
}

struct Tables {
  Table codecs;
  Table decisions;
  Table forms;
  Table schemes;
};

void write_weight(JsonWriter& json, const StoredWeight& weight, Tables& tables) {
  json.begin_object();
  json.key("codec").integer(tables.codecs.number(json_of(weight.codec)));
  json.key("components").begin_array();
  for (const StoredComponent& component : weight.components) write_component(json, component);
  json.end_array();
  json.key("compute").string(weight.compute);
  json.key("decisions").integer(tables.decisions.number(json_of(weight.decisions)));
  json.key("device").string(weight.device);
  json.key("dtype").string(dtype_name(weight.weight.dtype));
  json.key("form").integer(tables.forms.number(json_of(weight.asked, weight.form)));
  if (!weight.history.empty()) {
    json.key("history").begin_array();
    for (const CodecRef& codec : weight.history) json.integer(tables.codecs.number(json_of(codec)));
    json.end_array();
  }
  json.key("lossless").boolean(weight.lossless);
  json.key("path").string(weight.weight.path);
  if (weight.scale) {
    json.key("scale").begin_object();
    json.key("folded").boolean(weight.scale->folded);
    json.key("form").string(to_string(weight.scale->form));
    json.key("path").string(weight.scale->path).end_object();
  }
  json.key("scheme");
  if (weight.scheme)
    json.integer(tables.schemes.number(json_of(*weight.scheme)));
  else
    json.null();
  json.key("shape");
  write_shape(json, weight.weight.shape);
  json.key("source").string(weight.source);
  json.end_object();
}

void write_values(JsonWriter& json, const ArtifactIndex& index, Tables& tables) {
  json.begin_array();
  for (const ValueScheme& value : index.values) {
    json.begin_object();
    json.key("pattern").string(value.pattern);
    json.key("scheme").integer(tables.schemes.number(json_of(value.scheme)));
    json.end_object();
  }
  json.end_array();
}

/// The tables of a whole index, numbered as it is written: weights first.
Tables number_all(const ArtifactIndex& index) {
  Tables tables;
  for (const StoredWeight& weight : index.weights) {
    tables.codecs.number(json_of(weight.codec));
    for (const CodecRef& codec : weight.history) tables.codecs.number(json_of(codec));
    tables.decisions.number(json_of(weight.decisions));
    tables.forms.number(json_of(weight.asked, weight.form));
    if (weight.scheme) tables.schemes.number(json_of(*weight.scheme));
  }
  for (const ValueScheme& value : index.values) tables.schemes.number(json_of(value.scheme));
  return tables;
}

/// More than the text mostly has, padding included.
std::size_t likely_length(const ArtifactIndex& index) {
  std::size_t length = 16384;
  for (const StoredWeight& weight : index.weights) {
    length += 256 + weight.weight.path.size();
    if (weight.scale) length += 64 + weight.scale->path.size();
    if (!weight.history.empty()) length += 16 + 8 * weight.history.size();
    for (const StoredComponent& stored : weight.components) length += 384 + stored.entry.size();
  }
  return length;
}

}  // namespace

std::uint64_t StoredComponent::chunks() const noexcept {
  if (stored_bytes == 0) return 0;
  if (chunk_bytes == 0 || component.bytes <= chunk_bytes) return 1;
  return (component.bytes - 1) / chunk_bytes + 1;
}

std::uint64_t StoredComponent::chunk_end(std::uint64_t i) const noexcept {
  if (i + 1 != chunks()) return (i + 1) * chunk_bytes;
  return compressed() ? component.bytes : stored_bytes;
}

bool ArtifactIndex::has_compressed() const noexcept {
  for (const StoredWeight& weight : weights)
    for (const StoredComponent& stored : weight.components)
      if (stored.compressed()) return true;
  return false;
}

std::uint64_t ArtifactIndex::stored_bytes() const noexcept {
  std::uint64_t total = 0;
  for (const StoredWeight& weight : weights)
    for (const StoredComponent& stored : weight.components) total += stored.stored_bytes;
  return total;
}

std::string to_json(const ArtifactIndex& index) {
  return to_json(index, index.sums);
}

std::string to_json(const ArtifactIndex& index, const Digest& sums) {
  // What is written first depends on all weights; memory holds the text once.
  Tables tables = number_all(index);
  std::string start;
  start.reserve(likely_length(index));
  start += "{\"codecs\":";
  tables.codecs.write(start);
  start += ",\"decisions\":";
  tables.decisions.write(start);
  start += ",\"forms\":";
  tables.forms.write(start);
  start += ",\"header\":\"" + to_hex(index.header) + "\",\"schemes\":";
  tables.schemes.write(start);
  start += ",\"sums\":\"" + to_hex(sums) + "\",\"values\":";
  JsonWriter json(std::move(start));
  write_values(json, index, tables);
  start = json.take() + ",\"version\":" + std::to_string(index.version) + ",\"weights\":";
  JsonWriter weights(std::move(start));
  weights.begin_array();
  for (const StoredWeight& weight : index.weights) write_weight(weights, weight, tables);
  weights.end_array();
  return weights.take() + ",\"zstd\":\"" + index.zstd + "\"}";
}

}  // namespace synps
