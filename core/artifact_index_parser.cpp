#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "json_reader.h"
#include "synps/artifact_index.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/frame.h"

namespace synps {
namespace {

struct Form {
  FormRequest asked;
  WeightForm form;
};

struct Tables {
  std::vector<CodecRef> codecs;
  std::vector<std::vector<Decision>> decisions;
  std::vector<Form> forms;
  std::vector<Scheme> schemes;
};

/// The value that a name stands for, or a failure that names the field.
template <typename Parse>
auto named(JsonObject& object, std::string_view key, const Parse& parse, const char* want) {
  const std::string_view name = object.string(key);
  auto value = parse(name);
  if (!value) object.fail(key, want, quote(name));
  return *value;
}

/// The table's row that a field's number refers to.
template <typename Row>
const Row& referred(JsonObject& object, std::string_view key, const std::vector<Row>& table) {
  const std::uint64_t number = object.integer(key);
  if (number >= table.size())
    object.fail(key, fmt::format("a number below {}", table.size()), fmt::format("{}", number));
  return table[number];
}

/// Exactly 16 lower-case hex digits, else nothing.
std::optional<std::uint64_t> hex_from(std::string_view text) noexcept {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    value = value << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

CodecRef parse_codec(JsonObject object) {
  CodecRef codec;
  codec.name = object.string("name");
  codec.package = object.string("package");
  const std::uint64_t revision = object.integer("revision");
  if (revision > 0xFFFFFFFFu) object.fail("revision", "a revision number");
  codec.revision = static_cast<unsigned>(revision);
  object.expect_no_other_field();
  return codec;
}

/// A request as to_string() writes it: with its level.
std::optional<CompressRequest> written_request(std::string_view text) {
  const auto request = compress_request_from(text);
  return request && to_string(*request) == text ? request : std::nullopt;
}

Form parse_form(JsonObject object, const std::string& file) {
  Form form;
  JsonObject asked(object.element("asked"), object.place_of("asked"), file);
  form.asked.compress = named(asked, "compress", written_request, "none or zstd:LEVEL");
  form.asked.order = named(asked, "order", order_request_from, "an order request");
  form.asked.residency = named(asked, "residency", residency_request_from, "a residency request");
  asked.expect_no_other_field();
  form.form.encoding = named(object, "encoding", encoding_from, "an encoding");
  form.form.order = named(object, "order", order_from, "an order that this version knows");
  form.form.orientation = named(object, "orientation", orientation_from, "out_in or in_out");
  form.form.residency = named(object, "residency", residency_from, "heap or mapped");
  form.asked.orientation = form.form.orientation;
  object.expect_no_other_field();
  return form;
}

Scheme parse_scheme(JsonObject object) {
  Scheme scheme;
  scheme.format = object.string("format");
  scheme.lifetime = named(object, "lifetime", lifetime_from, "a lifetime");
  scheme.scope = named(object, "scope", scope_from, "a scope");
  scheme.update = named(object, "update", update_from, "an update kind");
  scheme.is_volatile = object.boolean("volatile");
  object.expect_no_other_field();
  return scheme;
}

Shape parse_shape(JsonObject& object) {
  std::vector<std::uint64_t> extents;
  for (const simdjson::dom::element element : object.array("shape")) {
    std::uint64_t extent = 0;
    if (element.get(extent) != simdjson::SUCCESS) object.fail("shape", "an array of integers");
    extents.push_back(extent);
  }
  auto shape = Shape::make(std::move(extents));
  if (!shape) object.fail("shape", "an element count that fits 64 bits");
  return *shape;
}

/// A size or place: an integer, or 16 hex digits where it was known only after packing.
std::uint64_t parse_size(JsonObject& object, std::string_view key, Compression compression) {
  if (compression == Compression::none) return object.integer(key);
  return named(object, key, hex_from, "16 lower-case hex digits");
}

StoredComponent parse_component(JsonObject object) {
  StoredComponent stored;
  stored.component.bytes = object.integer("bytes");
  stored.chunk_bytes = object.integer("chunk_bytes");
  stored.chunk_rows = object.integer("chunk_rows");
  stored.compression = named(object, "compression", compression_from, "none or zstd");
  stored.first_digest = object.integer("digest");
  stored.component.dtype = named(object, "dtype", dtype_from_name, "a safetensors dtype");
  stored.entry = object.string("entry");
  stored.component.name = object.string("name");
  stored.offset = parse_size(object, "offset", stored.compression);
  stored.order = named(object, "order", order_from, "an order that this version knows");
  stored.component.per_weight = object.boolean("per_weight");
  stored.component.shape = parse_shape(object);
  stored.stored_bytes = parse_size(object, "stored_bytes", stored.compression);
  object.expect_no_other_field();
  if (stored.component.shape.bytes(stored.component.dtype) != stored.component.bytes)
    object.fail("bytes", "shape × dtype", fmt::format("{}", stored.component.bytes));
  if (stored.compressed() && stored.component.bytes == 0)
    object.fail("compression", "none, as there is nothing to compress");
  if (stored.compressed() && stored.stored_bytes == 0)
    object.fail("stored_bytes", "more than 0", "0");
  if (!stored.compressed() && stored.stored_bytes < stored.component.bytes)
    object.fail("stored_bytes", "at least bytes", fmt::format("{}", stored.stored_bytes));
  if (stored.chunk_bytes == 0 && stored.component.bytes != 0)
    object.fail("chunk_bytes", "more than 0", "0");
  return stored;
}

std::optional<Scheme> parse_scheme_reference(JsonObject& object,
                                             const std::vector<Scheme>& schemes) {
  const simdjson::dom::element element = object.element("scheme");
  if (element.is_null()) return std::nullopt;
  std::uint64_t number = 0;
  if (element.get(number) != simdjson::SUCCESS || number >= schemes.size())
    object.fail("scheme", fmt::format("null or a number below {}", schemes.size()));
  return schemes[number];
}

std::optional<StoredScale> parse_scale(JsonObject& object, const std::string& file) {
  if (!object.has("scale")) return std::nullopt;
  JsonObject row(object.element("scale"), object.place_of("scale"), file);
  StoredScale scale;
  scale.folded = row.boolean("folded");
  scale.form = named(row, "form", scale_form_from, "tensor, row or block");
  scale.path = row.string("path");
  row.expect_no_other_field();
  return scale;
}

/// Frames must be inflated to be used, which nothing mapped is.
void check_compressed(const JsonObject& object, const StoredWeight& weight) {
  const bool compressed =
      std::any_of(weight.components.begin(), weight.components.end(),
                  [](const StoredComponent& stored) { return stored.compressed(); });
  if (!compressed) return;
  if (weight.form.residency != Residency::heap)
    object.fail("form", "residency heap, as a component is compressed",
                std::string(to_string(weight.form.residency)));
  if (weight.scheme && weight.scheme->is_volatile)
    object.fail("scheme", "one that is not volatile, as a component is compressed");
}

/// Whether the weight can be in that order is known to its codec alone: component_fault().
void check_orders(const JsonObject& object, const StoredWeight& weight) {
  for (std::size_t i = 0; i < weight.components.size(); ++i)
    if (const Order order = weight.components[i].order; order != weight.form.order)
      object.fail(fmt::format("components[{}].order", i),
                  fmt::format("{}, the order of the form", to_string(weight.form.order)),
                  std::string(to_string(order)));
}

StoredWeight parse_weight(JsonObject object, const Tables& tables, const std::string& file) {
  StoredWeight weight;
  weight.codec = referred(object, "codec", tables.codecs);
  std::size_t i = 0;
  for (const simdjson::dom::element element : object.array("components"))
    weight.components.push_back(parse_component(
        JsonObject(element, fmt::format("{}[{}]", object.place_of("components"), i++), file)));
  if (weight.components.empty()) object.fail("components", "at least one component");
  weight.compute = object.string("compute");
  weight.decisions = referred(object, "decisions", tables.decisions);
  weight.device = object.string("device");
  weight.weight.dtype = named(object, "dtype", dtype_from_name, "a safetensors dtype");
  const Form& form = referred(object, "form", tables.forms);
  weight.asked = form.asked;
  weight.form = form.form;
  weight.lossless = object.boolean("lossless");
  weight.weight.path = object.string("path");
  weight.scale = parse_scale(object, file);
  weight.scheme = parse_scheme_reference(object, tables.schemes);
  weight.weight.shape = parse_shape(object);
  weight.source = object.string("source");
  object.expect_no_other_field();
  check_compressed(object, weight);
  check_orders(object, weight);
  return weight;
}

std::vector<Decision> parse_decisions(simdjson::dom::element element, const JsonObject& index) {
  std::vector<Decision> decisions;
  simdjson::dom::array rows;
  if (element.get(rows) != simdjson::SUCCESS) index.fail("decisions", "an array of arrays");
  for (const simdjson::dom::element row : rows) {
    std::string_view key;
    std::string_view pattern;
    simdjson::dom::array pair;
    const bool ok = row.get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
                    pair.at(0).get(key) == simdjson::SUCCESS &&
                    pair.at(1).get(pattern) == simdjson::SUCCESS;
    if (!ok) index.fail("decisions", "pairs of a key and a pattern");
    decisions.push_back({std::string(key), std::string(pattern)});
  }
  return decisions;
}

Digest parse_digest(JsonObject& object, std::string_view key) {
  return named(object, key, digest_from_hex, "32 hex digits");
}

void check_version(JsonObject& object, ArtifactIndex& index) {
  index.version = object.integer("version");
  if (index.version == kArtifactVersion) return;
  object.fail("version", fmt::format("version {}, which this synps reads", kArtifactVersion),
              fmt::format("{}", index.version));
}

void check_order(const JsonObject& object, const std::vector<StoredWeight>& weights) {
  for (std::size_t i = 1; i < weights.size(); ++i)
    if (!(weights[i - 1].weight.path < weights[i].weight.path))
      object.fail(fmt::format("weights[{}].path", i), "paths that rise",
                  quote(weights[i].weight.path));
}

}  // namespace

ArtifactIndex parse_index(std::string_view json, const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS)
    throw Error({.code = ErrorCode::artifact,
                 .file = file,
                 .what = "the artifact's index is not JSON",
                 .field = std::string(kIndexEntry),
                 .found = simdjson::error_message(error)});
  JsonObject object(root, "", file);
  ArtifactIndex index;
  check_version(object, index);
  index.header = parse_digest(object, "header");
  index.sums = parse_digest(object, "sums");

  Tables tables;
  const auto each = [&](std::string_view key, const auto& take) {
    std::size_t i = 0;
    for (const simdjson::dom::element element : object.array(key))
      take(JsonObject(element, fmt::format("{}[{}]", key, i++), file));
  };
  each("codecs", [&](JsonObject row) { tables.codecs.push_back(parse_codec(std::move(row))); });
  for (const simdjson::dom::element element : object.array("decisions"))
    tables.decisions.push_back(parse_decisions(element, object));
  each("forms", [&](JsonObject row) { tables.forms.push_back(parse_form(std::move(row), file)); });
  each("schemes", [&](JsonObject row) { tables.schemes.push_back(parse_scheme(std::move(row))); });
  each("values", [&](JsonObject row) {
    ValueScheme value{std::string(row.string("pattern")), referred(row, "scheme", tables.schemes)};
    row.expect_no_other_field();
    index.values.push_back(std::move(value));
  });
  each("weights", [&](JsonObject row) {
    index.weights.push_back(parse_weight(std::move(row), tables, file));
  });
  index.zstd = object.string("zstd");
  object.expect_no_other_field();
  if (index.has_compressed() ? !is_zstd_version(index.zstd) : !index.zstd.empty())
    object.fail("zstd", index.has_compressed() ? "a version of zstd" : "\"\"", quote(index.zstd));
  check_order(object, index.weights);
  return index;
}

}  // namespace synps
