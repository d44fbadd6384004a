#include "safetensors_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "json_document.h"
#include "safetensors_extent.h"
#include "synps/checked.h"

namespace synps {
namespace {

using simdjson::ondemand::value;

constexpr std::uint64_t kLengthBytes = 8;

/// Takes a header's values from its JSON. What they must be to each other is checked after
/// (safetensors_extent.h).
class HeaderParser {
 public:
  explicit HeaderParser(JsonDocument& json) : json_(json) {}

  void parse() {
    json_.walk([&](const JsonKey& key, value& field) {
      if (key.name == "__metadata__")
        parse_metadata(key, field);
      else
        parse_tensor(key, field);
    });
  }

  std::map<std::string, std::string> metadata;
  std::vector<PlacedEntry> entries;

 private:
  enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4, kAllFields = 7 };

  void parse_metadata(const JsonKey& key, value& field) {
    if (has_metadata_) json_.fail({.what = "a key stands twice", .field = "__metadata__"}, key.at);
    has_metadata_ = true;
    const auto object = json_.object(field, {.field = "__metadata__"});
    json_.each_field(object, [&](const JsonKey& entry, value& text) {
      const JsonField where{.kind = "__metadata__ key", .name = entry.name};
      const std::string_view content = json_.string(text, where);
      if (!metadata.emplace(entry.name, content).second)
        json_.fail({.what = "a key stands twice", .field = where.text()}, entry.at);
    });
  }

  void parse_tensor(const JsonKey& key, value& info) {
    PlacedEntry& placed = entries.emplace_back();
    placed.entry.name = key.name;
    placed.name_at = key.at;
    const auto object = json_.object(info, {.kind = "tensor", .name = placed.entry.name});
    unsigned seen = 0;
    json_.each_field(object, [&](const JsonKey& field, value& content) {
      const JsonField where{.kind = "tensor", .name = placed.entry.name, .field = field.name};
      const Field which = field_of(where, field.at);
      if ((seen & which) != 0)
        json_.fail({.what = "a field stands twice", .field = where.text()}, field.at);
      seen |= which;
      if (which == kDtype)
        parse_dtype(placed, where, content);
      else if (which == kShape)
        parse_shape(placed, where, content);
      else
        parse_offsets(placed, where, content);
    });
    if (seen != kAllFields) fail_missing(placed, seen);
  }

  Field field_of(const JsonField& where, const char* at) const {
    if (where.field == "dtype") return kDtype;
    if (where.field == "shape") return kShape;
    if (where.field == "data_offsets") return kOffsets;
    json_.fail({.what = "an unknown field",
                .field = where.text(),
                .want = "dtype, shape and data_offsets"},
               at);
  }

  void parse_dtype(PlacedEntry& placed, const JsonField& where, value& content) {
    const char* at = JsonDocument::place(content);
    const std::string_view name = json_.string(content, where);
    const auto dtype = dtype_from_name(name);
    if (!dtype)
      json_.fail({.what = "an unknown dtype",
                  .field = where.text(),
                  .found = quote(name, 40),
                  .want = "a dtype of safetensors 0.7, such as F32, BF16 or I64"},
                 at);
    placed.entry.dtype = *dtype;
  }

  void parse_shape(PlacedEntry& placed, JsonField where, value& content) {
    const char* at = JsonDocument::place(content);
    std::vector<std::uint64_t> extents;
    // As the reference multiplies: in order, so that [2^63, 4, 0] wraps and [0, 2^63, 4] does not.
    std::optional<std::uint64_t> elements = 1;
    where.index = 0;
    json_.each_element(json_.array(content, {where.kind, where.name, where.field}), [&](value& v) {
      extents.push_back(json_.integer(v, where));
      if (elements) elements = checked_mul(*elements, extents.back());
      ++where.index;
    });
    auto shape = Shape::make(std::move(extents));
    where.index = JsonField::kNoIndex;
    if (!shape || !elements)
      json_.fail({.what = "the shape's element count does not fit 64 bits", .field = where.text()},
                 at);
    placed.entry.shape = std::move(*shape);
  }

  void parse_offsets(PlacedEntry& placed, JsonField where, value& content) {
    placed.offsets_at = JsonDocument::place(content);
    const JsonField whole = where;
    std::size_t count = 0;
    json_.each_element(json_.array(content, whole), [&](value& v) {
      where.index = count;
      const std::uint64_t number = json_.integer(v, where);
      (count == 0 ? placed.entry.begin : placed.entry.end) = number;
      ++count;
    });
    if (count != 2)
      json_.fail({.what = "data_offsets of another length than wanted",
                  .field = whole.text(),
                  .found = fmt::format("{} numbers", count),
                  .want = "two, begin and end"},
                 placed.offsets_at);
  }

  [[noreturn]] void fail_missing(const PlacedEntry& placed, unsigned seen) const {
    const char* missing = (seen & kDtype) == 0   ? "dtype"
                          : (seen & kShape) == 0 ? "shape"
                                                 : "data_offsets";
    const JsonField where{.kind = "tensor", .name = placed.entry.name, .field = missing};
    json_.fail({.what = "a field is missing", .field = where.text()}, placed.name_at);
  }

  JsonDocument& json_;
  bool has_metadata_ = false;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(simdjson::padded_string text, std::uint64_t data_bytes,
                                           const std::string& file) {
  const std::uint64_t data_start = kLengthBytes + text.size();
  JsonDocument json(std::move(text), {.file = file, .what = "the header", .offset = kLengthBytes});
  HeaderParser parser(json);
  parser.parse();
  check_entries(json, parser.entries, data_bytes);

  SafetensorsHeader header;
  header.metadata = std::move(parser.metadata);
  header.data_start = data_start;
  header.entries.reserve(parser.entries.size());
  for (PlacedEntry& placed : parser.entries) header.entries.push_back(std::move(placed.entry));
  return header;
}

}  // namespace synps
