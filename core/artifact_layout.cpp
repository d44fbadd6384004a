#include "synps/artifact_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "artifact_place.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/json_writer.h"

namespace synps {
namespace {

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 62;

Error size_error(const std::string& path) {
  return Error({.code = ErrorCode::limit,
                .what = "the weight's stored size does not fit",
                .field = path,
                .want = "less than 2^62 bytes"});
}

std::uint64_t checked(std::optional<std::uint64_t> size, const std::string& path) {
  if (!size || *size > kLargestSize) throw size_error(path);
  return *size;
}

/// True bytes of eight rows of a component: the unit that no chunk cuts.
std::uint64_t group_bytes(const StoredWeight& weight, std::size_t i, const RowBytes& row_bytes) {
  const Shape& shape = weight.weight.shape;
  const std::uint64_t columns = shape.rank() < 2 ? kVectorRow : shape.columns();
  const StoredComponent& stored = weight.components[i];
  if (is_dense(weight))  // eight rows of any dtype are whole bytes, sub-byte ones included
    return checked(checked_mul(columns, dtype_bits(stored.component.dtype)), weight.weight.path);
  return checked(checked_mul(kRowGroup, row_bytes.of(weight, i, columns)), weight.weight.path);
}

void cut_into_chunks(StoredWeight& weight, std::size_t i, const RowBytes& row_bytes) {
  StoredComponent& stored = weight.components[i];
  if (stored.component.per_weight) {
    stored.chunk_rows = 0;
    stored.chunk_bytes = stored.component.bytes;
    return;
  }
  if (weight.weight.shape.elements() == 0) {  // whatever its other extents are
    stored.chunk_rows = kRowGroup;
    stored.chunk_bytes = 0;
    return;
  }
  const std::uint64_t group = group_bytes(weight, i, row_bytes);
  const std::uint64_t groups = group == 0 ? 1 : std::max<std::uint64_t>(1, kChunkTarget / group);
  stored.chunk_rows = kRowGroup * groups;
  stored.chunk_bytes = group * groups;
}

void set_stored_bytes(StoredWeight& weight, StoredComponent& stored) {
  const std::uint64_t bytes = stored.component.bytes;
  if (stored.compressed()) {
    stored.stored_bytes = bytes;  // for chunks(), which asks only whether there are any
    stored.stored_bytes = checked(bound_of_frames(stored), weight.weight.path);
    return;
  }
  if (is_dense(weight)) {
    stored.stored_bytes = checked(bytes, weight.weight.path);
    return;
  }
  const std::uint64_t unit = is_volatile(weight) ? kPageAlignment : kPackedAlignment;
  stored.stored_bytes = checked(checked_round_up(bytes, unit), weight.weight.path);
}

}  // namespace

std::uint64_t vector_row(const Codec& codec, std::uint64_t elements) {
  if (codec.info().file.empty()) return kVectorRow;
  const std::uint64_t granule = codec.row_granule();
  if (granule == 0) return elements;
  return std::min(elements, std::max(granule, kVectorRow / granule * granule));
}

std::uint64_t CodecRowBytes::of(const StoredWeight& weight, std::size_t component,
                                std::uint64_t columns) const {
  const Codec& codec = *codecs_.find(weight.codec.package, weight.codec.name);
  const Shape& shape = weight.weight.shape;
  return codec.row_bytes(component,
                         shape.rank() < 2 ? vector_row(codec, shape.elements()) : columns);
}

void set_sizes(StoredWeight& weight, const RowBytes& row_bytes) {
  for (std::size_t i = 0; i < weight.components.size(); ++i) {
    cut_into_chunks(weight, i, row_bytes);
    set_stored_bytes(weight, weight.components[i]);
  }
}

namespace {

void refuse_collision(const std::string& name) {
  throw Error({.code = ErrorCode::checkpoint,
               .what = "a tensor's name collides with an entry that synps writes",
               .field = name,
               .hint = "rename the tensor in the checkpoint"});
}

void name_entries(ArtifactIndex& index) {
  for (StoredWeight& weight : index.weights)
    for (StoredComponent& stored : weight.components) stored.entry = entry_name(weight, stored);
  if (const auto names = unusable_entry_names(index); !names.empty())
    refuse_collision(names.front());
}

/// "130 weights: f16 100, q8_0 30".
std::string summary_of(const std::vector<StoredWeight>& weights) {
  std::map<std::string, std::size_t> counts;
  for (const StoredWeight& weight : weights) {
    const CodecRef& codec = weight.codec;
    ++counts[codec.package == codec.name ? codec.name : codec.id()];
  }
  std::string text = fmt::format("{} weight{}", weights.size(), weights.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const auto& [codec, count] : counts) {
    text += fmt::format("{}{} {}", separator, codec, count);
    separator = ", ";
  }
  return text;
}

std::map<std::string, std::string> complete_metadata(std::map<std::string, std::string> metadata,
                                                     const std::vector<StoredWeight>& weights,
                                                     bool packed) {
  for (const auto& [key, value] : metadata)
    if (key.starts_with("synps."))
      throw Error({.code = ErrorCode::checkpoint,
                   .what = "the checkpoint's metadata uses a key that synps keeps for itself",
                   .field = "__metadata__." + key,
                   .want = "no key that starts with 'synps.'"});
  // A source that calls itself `synps` keeps its word apart, too, lest it be taken for ours.
  if (packed || (metadata.contains("format") && metadata["format"] == "synps")) {
    if (const auto format = metadata.find("format"); format != metadata.end())
      metadata["synps.source.format"] = format->second;
    metadata["format"] = "synps";
  }
  metadata["synps.version"] = std::to_string(kArtifactVersion);
  metadata["synps.index"] = to_hex(Digest{});
  metadata["synps.summary"] = summary_of(weights);
  return metadata;
}

/// The index lies before what it describes, so its length and the offsets in it depend on each
/// other. Both only grow with the other, so this ends.
void settle_index(ArtifactLayout& layout) {
  layout.index_bytes = 0;
  for (;;) {
    place_components(layout.index, layout.index_bytes + layout.sums_bytes);
    const std::uint64_t needed = *checked_round_up(to_json(layout.index).size(), kPageAlignment);
    if (needed == layout.index_bytes) return;
    layout.index_bytes = std::max(needed, layout.index_bytes + kPageAlignment);
  }
}

void check_total(const ArtifactLayout& layout) {
  std::uint64_t total = 0;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      total = checked(checked_add(total, stored.stored_bytes), weight.weight.path);
}

}  // namespace

bool needs_synps(const std::vector<StoredWeight>& weights) {
  return std::any_of(weights.begin(), weights.end(), [](const StoredWeight& weight) {
    const bool compressed = weight.components.front().compressed();
    return !is_plain(weight) && (dtype_is_float(weight.weight.dtype) || compressed);
  });
}

ArtifactLayout lay_out(ArtifactContents contents, const RowBytes& row_bytes) {
  ArtifactLayout layout;
  auto& weights = layout.index.weights;
  weights = std::move(contents.weights);
  layout.index.values = std::move(contents.values);
  std::sort(weights.begin(), weights.end(), [](const StoredWeight& a, const StoredWeight& b) {
    return a.weight.path < b.weight.path;
  });
  sort_lists(layout.index);
  for (StoredWeight& weight : weights) set_sizes(weight, row_bytes);
  name_entries(layout.index);
  check_total(layout);
  layout.metadata = complete_metadata(std::move(contents.metadata), weights,
                                      contents.packed_elsewhere || needs_synps(weights));
  layout.chunk_count = number_digests(layout.index);
  layout.sums_bytes = *checked_round_up(sums_used(layout.index), kPageAlignment);
  layout.has_bounds = layout.index.has_compressed();
  if (layout.has_bounds) layout.index.zstd = zstd_version();
  settle_index(layout);
  settle_sizes(layout);
  return layout;
}

namespace {

void write_entry(JsonWriter& json, std::string_view name, DType dtype,
                 const std::vector<std::uint64_t>& shape, std::uint64_t begin,
                 std::uint64_t bytes) {
  json.key(name).begin_object();
  json.key("dtype").string(dtype_name(dtype));
  json.key("shape").begin_array();
  for (const std::uint64_t extent : shape) json.integer(extent);
  json.end_array();
  json.key("data_offsets").begin_array().integer(begin).integer(begin + bytes).end_array();
  json.end_object();
}

/// More than the header mostly has, padding included.
std::size_t likely_header_length(const ArtifactIndex& index) {
  std::size_t length = 65536;
  for (const StoredWeight& weight : index.weights)
    for (const StoredComponent& stored : weight.components) length += 128 + stored.entry.size();
  return length;
}

void write_weight_entry(JsonWriter& json, const StoredWeight& weight,
                        const StoredComponent& stored) {
  if (is_plain(weight))
    write_entry(json, stored.entry, stored.component.dtype, stored.component.shape.extents(),
                stored.offset, stored.stored_bytes);
  else
    write_entry(json, stored.entry, DType::u8, {stored.stored_bytes}, stored.offset,
                stored.stored_bytes);
}

/// Length field, of zeros, and the header's text, not padded.
std::string header_text(const ArtifactLayout& layout, const Digest& index_digest) {
  std::string start;
  start.reserve(likely_header_length(layout.index));
  start.assign(8, '\0');
  JsonWriter json(std::move(start));
  json.begin_object();
  json.key("__metadata__").begin_object();
  for (const auto& [key, value] : layout.metadata)
    json.key(key).string(key == "synps.index" ? to_hex(index_digest) : value);
  json.end_object();
  write_entry(json, kIndexEntry, DType::u8, {layout.index_bytes}, 0, layout.index_bytes);
  write_entry(json, kSumsEntry, DType::u8, {layout.sums_bytes}, layout.index_bytes,
              layout.sums_bytes);
  for (const ComponentNumber number : in_data_order(layout.index))
    write_weight_entry(json, layout.index.weights[number.weight], number.in(layout.index));
  json.end_object();
  return json.take();
}

std::int64_t digits(std::uint64_t number) noexcept {
  std::int64_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

/// Bytes of header_text() with every compressed component at its largest and furthest, so that its
/// size is known before anything is compressed. `size` is what it has as it is. Compressed
/// components are the last, without padding, and the text of one has its size and its two ends.
std::uint64_t room_for_header(const ArtifactLayout& layout, std::uint64_t size) {
  std::int64_t more = 0;
  std::optional<std::uint64_t> end;  // of those before, at their largest
  for (const ComponentNumber number : in_data_order(layout.index)) {
    const StoredComponent& stored = number.in(layout.index);
    if (!stored.compressed()) continue;
    const std::string& path = layout.index.weights[number.weight].weight.path;
    const std::uint64_t most = checked(bound_of_frames(stored), path);
    const std::uint64_t begin = end.value_or(stored.offset);
    end = checked(checked_add(begin, most), path);
    more += digits(most) + digits(begin) + digits(*end);
    more -= digits(stored.stored_bytes) + digits(stored.offset) +
            digits(stored.offset + stored.stored_bytes);
  }
  return more > 0 ? size + static_cast<std::uint64_t>(more) : size;
}

}  // namespace

void settle_sizes(ArtifactLayout& layout) {
  place_components(layout.index, layout.index_bytes + layout.sums_bytes);
  const std::string header = render_header(layout, Digest{});
  layout.header_bytes = header.size();
  layout.index.header = xxh3_128(std::as_bytes(std::span(header)));
  layout.file_bytes =
      layout.header_bytes + layout.index_bytes + layout.sums_bytes + layout.index.stored_bytes();
}

std::string render_header(const ArtifactLayout& layout, const Digest& index_digest) {
  std::string text = header_text(layout, index_digest);
  const std::uint64_t total =
      *checked_round_up(room_for_header(layout, text.size()), kPageAlignment);
  if (total - 8 > kMaxHeaderBytes)
    throw Error({.code = ErrorCode::limit,
                 .what = "the artifact's header would be longer than safetensors allows",
                 .found = fmt::format("{} bytes", total - 8),
                 .want = fmt::format("at most {} bytes", kMaxHeaderBytes)});
  text.resize(total, ' ');
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>((total - 8) >> (8 * i) & 0xFF);
  return text;
}

}  // namespace synps
