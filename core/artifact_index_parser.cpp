#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <new>
#include <utility>

#include "artifact_index_rows.h"
#include "json_reader.h"
#include "synps/artifact_index.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/frame.h"
#include "synps/padded_text.h"

namespace synps {
namespace {

using Form = IndexTables::Form;

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

CodecRef parse_codec(JsonObject object) {
  CodecRef codec;
  codec.name = object.string("name");
  codec.package = object.string("package");
  const std::uint64_t revision = object.integer("revision");
  if (revision > 0xFFFFFFFFu) object.fail("revision", "a revision number");
  codec.revision = static_cast<unsigned>(revision);
  object.expect_no_other_field();
  if (codec.is_keep() && codec != CodecRef::keep())
    object.fail("package", "a package, as only keep of revision 0 is without one");
  if (!codec.is_keep() && revision == 0) object.fail("revision", "1 or more", "0");
  return codec;
}

/// A request as to_string() writes it: with its level.
std::optional<CompressRequest> written_request(std::string_view text) {
  const auto request = compress_request_from(text);
  return request && to_string(*request) == text ? request : std::nullopt;
}

/// A loader alone makes f32 values of what is stored: no artifact has that encoding.
std::optional<Encoding> stored_encoding(std::string_view text) {
  const auto encoding = encoding_from(text);
  return encoding && encoding->kind != Encoding::Kind::dequantize_to ? encoding : std::nullopt;
}

Form parse_form(JsonObject object, const std::string& file) {
  Form form;
  JsonObject asked(object.element("asked"), object.place_of("asked"), file);
  form.asked.compress = named(asked, "compress", written_request, "none or zstd:LEVEL");
  form.asked.order = named(asked, "order", order_request_from, "an order request");
  form.asked.residency = named(asked, "residency", residency_request_from, "a residency request");
  asked.expect_no_other_field();
  form.form.encoding =
      named(object, "encoding", stored_encoding, "keep_as_stored or requantize_to(PACKAGE:EXPORT)");
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
  if (const auto fault = fault_of(stored)) object.fail(fault->field, fault->want, fault->found);
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

std::vector<CodecRef> parse_history(JsonObject& object, const std::vector<CodecRef>& codecs) {
  std::vector<CodecRef> history;
  if (!object.has("history")) return history;
  for (const simdjson::dom::element element : object.array("history")) {
    std::uint64_t number = 0;
    if (element.get(number) != simdjson::SUCCESS || number >= codecs.size())
      object.fail("history", fmt::format("numbers below {}", codecs.size()));
    history.push_back(codecs[number]);
  }
  if (history.empty()) object.fail("history", "at least one codec");
  return history;
}

StoredWeight parse_weight(JsonObject object, const IndexTables& tables, const std::string& file) {
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
  weight.history = parse_history(object, tables.codecs);
  weight.lossless = object.boolean("lossless");
  weight.weight.path = object.string("path");
  weight.scale = parse_scale(object, file);
  weight.scheme = parse_scheme_reference(object, tables.schemes);
  weight.weight.shape = parse_shape(object);
  weight.source = object.string("source");
  object.expect_no_other_field();
  if (const auto fault = fault_of(weight)) object.fail(fault->field, fault->want, fault->found);
  return weight;
}

SharedList<Decision> parse_decisions(simdjson::dom::element element, const JsonObject& index) {
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

/// A JSON text and its parsed tree.
class Document {
 public:
  Document(std::string_view json, const std::string& file) : text_(padded_text(json)) {
    const auto error = parser_.parse(text_).get(root_);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error == simdjson::SUCCESS) return;
    throw Error({.code = ErrorCode::artifact,
                 .file = file,
                 .what = "the artifact's index is not JSON",
                 .field = std::string(kIndexEntry),
                 .found = simdjson::error_message(error)});
  }
  simdjson::dom::element root() const noexcept { return root_; }

 private:
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

template <typename Take>
void for_each_row(JsonObject& object, std::string_view key, const std::string& file,
                  const Take& take) {
  std::size_t i = 0;
  for (const simdjson::dom::element element : object.array(key))
    take(JsonObject(element, fmt::format("{}[{}]", key, i++), file));
}

/// Everything before the weights.
IndexTables parse_start(JsonObject& object, const std::string& file, ArtifactIndex& index) {
  check_version(object, index);
  index.header = parse_digest(object, "header");
  index.sums = parse_digest(object, "sums");
  IndexTables tables;
  for_each_row(object, "codecs", file,
               [&](JsonObject row) { tables.codecs.push_back(parse_codec(std::move(row))); });
  for (const simdjson::dom::element element : object.array("decisions"))
    tables.decisions.push_back(parse_decisions(element, object));
  for_each_row(object, "forms", file,
               [&](JsonObject row) { tables.forms.push_back(parse_form(std::move(row), file)); });
  for_each_row(object, "schemes", file,
               [&](JsonObject row) { tables.schemes.push_back(parse_scheme(std::move(row))); });
  for_each_row(object, "values", file, [&](JsonObject row) {
    ValueScheme value{std::string(row.string("pattern")), referred(row, "scheme", tables.schemes)};
    row.expect_no_other_field();
    index.values.push_back(std::move(value));
  });
  return tables;
}

/// What follows the weights.
void parse_end(JsonObject& object, ArtifactIndex& index, bool compressed) {
  index.zstd = object.string("zstd");
  object.expect_no_other_field();
  if (compressed ? !is_zstd_version(index.zstd) : !index.zstd.empty())
    object.fail("zstd", compressed ? "a version of zstd" : "\"\"", quote(index.zstd));
}

/// The index when it is written as to_json writes it, which costs a fraction of reading JSON of any
/// shape: nothing for what is written otherwise, and for whatever has a fault. The weights, nearly
/// all of the text, are scanned; what is around them is parsed.
std::optional<ArtifactIndex> scan_index(std::string_view json, const std::string& file) {
  constexpr std::string_view kBegin = ",\"weights\":[";
  constexpr std::string_view kEnd = "],\"zstd\":\"";
  const std::size_t begin = json.find(kBegin);  // no string holds it: a quote would be escaped
  const std::size_t end = json.rfind(kEnd);
  if (begin == json.npos || end == json.npos || end < begin + kBegin.size()) return std::nullopt;
  const std::string_view weights = json.substr(begin + kBegin.size(), end - begin - kBegin.size());
  std::string around(json.substr(0, begin + kBegin.size()));
  around += json.substr(end);
  try {
    const Document document(around, file);
    JsonObject object(document.root(), "", file);
    ArtifactIndex index;
    const IndexTables tables = parse_start(object, file, index);
    object.array("weights");
    auto scanned = scan_weights(weights, tables);
    if (!scanned) return std::nullopt;
    index.weights = std::move(scanned->weights);
    parse_end(object, index, scanned->compressed);
    return index;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ArtifactIndex parse_index(std::string_view json, const std::string& file) {
  if (auto scanned = scan_index(json, file)) return std::move(*scanned);
  const Document document(json, file);
  JsonObject object(document.root(), "", file);
  ArtifactIndex index;
  const IndexTables tables = parse_start(object, file, index);
  for_each_row(object, "weights", file, [&](JsonObject row) {
    index.weights.push_back(parse_weight(std::move(row), tables, file));
  });
  parse_end(object, index, index.has_compressed());
  check_order(object, index.weights);
  return index;
}

}  // namespace synps
