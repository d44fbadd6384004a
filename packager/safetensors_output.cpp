#include "safetensors_output.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/json_writer.h"

namespace synps {
namespace {

constexpr std::uint64_t kLengthField = 8;  // bytes, little-endian
constexpr std::uint64_t kHeaderAlignment = 8;
constexpr std::uint64_t kMaxFileBytes = std::numeric_limits<std::int64_t>::max();

Error too_large(const std::string& file, std::string what) {
  return Error({.code = ErrorCode::limit, .file = file, .what = std::move(what)});
}

/// Gives entries their places in `order`. Returns the bytes of the data section.
std::uint64_t place(std::vector<SafetensorsEntry>& entries, const std::vector<std::size_t>& order,
                    const std::string& file) {
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    SafetensorsEntry& entry = entries[i];
    const auto bytes = entry.shape.bytes(entry.dtype);
    const auto next = bytes ? checked_add(end, *bytes) : std::nullopt;
    if (!next || *next > kMaxFileBytes - kLengthField - kMaxHeaderBytes)
      throw too_large(file, "the file would be larger than a file can be");
    entry.begin = end;
    entry.end = end = *next;
  }
  return end;
}

void write_entry(JsonWriter& json, const SafetensorsEntry& entry) {
  json.key(entry.name).begin_object();
  json.key("dtype").string(dtype_name(entry.dtype));
  json.key("shape").begin_array();
  for (const std::uint64_t extent : entry.shape.extents()) json.integer(extent);
  json.end_array();
  json.key("data_offsets").begin_array().integer(entry.begin).integer(entry.end).end_array();
  json.end_object();
}

std::string render(const std::vector<SafetensorsEntry>& entries,
                   const std::vector<std::size_t>& order,
                   const std::map<std::string, std::string>& metadata) {
  JsonWriter json;
  json.begin_object();
  if (!metadata.empty()) {
    json.key("__metadata__").begin_object();
    for (const auto& [key, value] : metadata) json.key(key).string(value);
    json.end_object();
  }
  for (const std::size_t i : order) write_entry(json, entries[i]);
  json.end_object();
  return json.take();
}

std::string with_length(std::string json) {
  json.append((kHeaderAlignment - json.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  std::string header;
  for (unsigned i = 0; i < kLengthField; ++i)
    header.push_back(static_cast<char>(std::uint64_t{json.size()} >> (8 * i) & 0xFF));
  return header + json;
}

}  // namespace

SafetensorsLayout lay_out_safetensors(std::vector<SafetensorsEntry>& entries,
                                      const std::map<std::string, std::string>& metadata,
                                      const std::string& file) {
  SafetensorsLayout layout;
  layout.order.resize(entries.size());
  std::iota(layout.order.begin(), layout.order.end(), std::size_t{0});
  std::sort(layout.order.begin(), layout.order.end(), [&](std::size_t a, std::size_t b) {
    const unsigned bits_a = dtype_bits(entries[a].dtype);
    const unsigned bits_b = dtype_bits(entries[b].dtype);
    return bits_a != bits_b ? bits_a > bits_b : entries[a].name < entries[b].name;
  });
  const std::uint64_t data_bytes = place(entries, layout.order, file);
  layout.header = with_length(render(entries, layout.order, metadata));
  if (layout.header.size() - kLengthField > kMaxHeaderBytes)
    throw too_large(file, fmt::format("the header would be longer than {} bytes", kMaxHeaderBytes));
  layout.file_bytes = layout.header.size() + data_bytes;
  return layout;
}

}  // namespace synps
