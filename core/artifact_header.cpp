#include "artifact_header.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "artifact_version.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/file_kind.h"
#include "synps/padded_text.h"

namespace synps {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::uint64_t kLengthBytes = 8;
constexpr int kPrefixFields = 3;  // metadata, index, sums

Error not_an_artifact(const InputFile& file, std::string what, std::string found = {},
                      std::string want = {}) {
  return Error({.code = ErrorCode::artifact,
                .file = file.path(),
                .what = std::move(what),
                .field = "header",
                .found = std::move(found),
                .want = std::move(want),
                .hint = "it is no artifact of synps, or it is damaged"});
}

/// Says what the file is when it is of a well-known other kind.
void refuse_known_kinds(const InputFile& file) {
  std::array<char, kKindBytes> head;
  const auto size = std::min<std::uint64_t>(head.size(), file.size());
  file.read(0, std::as_writable_bytes(std::span(head)).first(size));
  refuse_other_kinds({head.data(), size}, file.path(),
                     {.name = "an artifact", .gguf_hint = true, .code = ErrorCode::artifact});
}

std::uint64_t read_length(const InputFile& file) {
  if (file.size() < kLengthBytes)
    throw not_an_artifact(file, "the file is too short", fmt::format("{} bytes", file.size()),
                          "at least 8 bytes");
  std::array<std::byte, kLengthBytes> bytes{};
  file.read(0, bytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  if (length > kMaxHeaderBytes || !range_fits(kLengthBytes, length, file.size())) {
    refuse_known_kinds(file);
    throw not_an_artifact(file, "the header's length does not fit the file",
                          fmt::format("{} bytes", length),
                          fmt::format("at most {} bytes", file.size() - kLengthBytes));
  }
  return length;
}

/// Where the `count`-th field of the JSON object ends that `json` is the start of; nothing when it
/// ends before. Of what is no JSON any answer will do: it is parsed, and compared with its digest.
std::optional<std::size_t> end_of_fields(std::string_view json, int count) noexcept {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 1 && --count == 0) return i + 1;
    }
  }
  return std::nullopt;
}

/// The object of the first `count` fields of the header, which are objects themselves; all of it
/// when it has fewer. A header may be long, and these are at its start.
std::string read_first_fields(const InputFile& file, std::uint64_t length, int count) {
  constexpr std::uint64_t kPiece = std::uint64_t{64} * 1024;
  std::string text;
  for (std::uint64_t size = std::min(kPiece, length);; size = std::min(4 * size, length)) {
    const std::size_t known = text.size();
    text.resize(size);
    file.read(kLengthBytes + known, std::as_writable_bytes(std::span(text).subspan(known)));
    if (const auto end = end_of_fields(text, count)) {
      text.resize(*end);
      return text + "}";
    }
    if (size == length) return text;
  }
}

std::optional<std::map<std::string, std::string>> read_metadata(element value) {
  std::map<std::string, std::string> metadata;
  object fields;
  if (value.get(fields) != simdjson::SUCCESS) return std::nullopt;
  for (const auto& [key, field] : fields) {
    std::string_view text;
    if (field.get(text) != simdjson::SUCCESS) return std::nullopt;
    if (!metadata.emplace(key, text).second) return std::nullopt;
  }
  return metadata;
}

/// The data_offsets of an entry.
std::optional<std::pair<std::uint64_t, std::uint64_t>> read_offsets(element value) {
  simdjson::dom::array offsets;
  if (value["data_offsets"].get(offsets) != simdjson::SUCCESS || offsets.size() != 2)
    return std::nullopt;
  std::pair<std::uint64_t, std::uint64_t> range;
  if (offsets.at(0).get(range.first) != simdjson::SUCCESS) return std::nullopt;
  if (offsets.at(1).get(range.second) != simdjson::SUCCESS) return std::nullopt;
  return range;
}

/// Takes the first three fields, which an artifact has in this sequence; false when they are not.
bool parse_prefix(const std::string& json, HeaderPrefix& prefix) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text = padded_text(json);
  object root;
  const auto error = parser.parse(text).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS) return false;
  int number = 0;
  for (const auto& [name, value] : root) {
    if (number == 0) {
      auto metadata = read_metadata(value);
      if (name != "__metadata__" || !metadata) return false;
      prefix.metadata = std::move(*metadata);
    } else {
      const auto offsets = read_offsets(value);
      if (name != (number == 1 ? kIndexEntry : kSumsEntry) || !offsets) return false;
      const std::uint64_t expected_begin = number == 1 ? 0 : prefix.index_bytes;
      if (offsets->first != expected_begin || offsets->second < offsets->first) return false;
      (number == 1 ? prefix.index_bytes : prefix.sums_bytes) = offsets->second - offsets->first;
    }
    if (++number == kPrefixFields) return true;
  }
  return false;
}

void check_version(const InputFile& file, const HeaderPrefix& prefix) {
  const auto version = prefix.metadata.find("synps.version");
  if (version != prefix.metadata.end() && version->second == std::to_string(kArtifactVersion))
    return;
  if (version == prefix.metadata.end() && !prefix.metadata.contains("synps.index"))
    throw not_an_artifact(file, "the metadata names no artifact version", "", "synps.version");
  std::optional<std::string_view> found;
  if (version != prefix.metadata.end()) found = version->second;
  throw Error(version_problem(file.path(), "__metadata__.synps.version", found));
}

/// Keys of synps that are not of this version are not its checkpoint's either.
void check_own_keys(const InputFile& file, const HeaderPrefix& prefix) {
  constexpr std::array<std::string_view, 4> kOwn{"synps.index", "synps.source.format",
                                                 "synps.summary", "synps.version"};
  for (const auto& [key, value] : prefix.metadata)
    if (key.starts_with("synps.") && std::find(kOwn.begin(), kOwn.end(), key) == kOwn.end())
      throw Error({.code = ErrorCode::artifact,
                   .file = file.path(),
                   .what = "the metadata has a key that version 1 of the format does not have",
                   .field = "__metadata__." + key,
                   .hint = "the file is damaged, or was not written by synps"});
}

}  // namespace

bool has_artifact_metadata(const InputFile& file) {
  HeaderPrefix prefix;
  try {
    const std::uint64_t length = read_length(file);
    // The metadata alone: it is told also where the rest is not an artifact's.
    parse_prefix(read_first_fields(file, length, 1), prefix);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return false;
  }
  return prefix.metadata.contains("synps.version") || prefix.metadata.contains("synps.index");
}

HeaderPrefix read_header_prefix(const InputFile& file) {
  HeaderPrefix prefix;
  const std::uint64_t length = read_length(file);
  prefix.bytes = kLengthBytes + length;
  const bool sound = parse_prefix(read_first_fields(file, length, kPrefixFields), prefix);
  // First of all: another version may have other entries.
  if (sound || prefix.metadata.contains("synps.version")) check_version(file, prefix);
  if (!sound)
    throw not_an_artifact(file, "the header does not start with what an artifact has", "",
                          "__metadata__, __synps__ and __synps_sums__");
  check_own_keys(file, prefix);
  const bool aligned = prefix.bytes % kPageAlignment == 0 &&
                       prefix.index_bytes % kPageAlignment == 0 &&
                       prefix.sums_bytes % kPageAlignment == 0;
  if (!aligned)
    throw not_an_artifact(file, "header, index or sums are not whole pages", "",
                          "multiples of 4096 bytes");
  const std::uint64_t data = file.size() - prefix.bytes;
  if (prefix.index_bytes > data || prefix.sums_bytes > data - prefix.index_bytes)
    throw not_an_artifact(file, "the file is shorter than its index and sums",
                          fmt::format("{} bytes", file.size()));
  return prefix;
}

}  // namespace synps
