#include "synps/artifact_shards.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "artifact_version.h"
#include "json_reader.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/folder.h"
#include "synps/json_writer.h"
#include "synps/padded_text.h"
#include "synps/shard_name.h"

namespace synps {
namespace {

/// How every index that to_json() writes begins.
constexpr std::string_view kStart = "{\"metadata\":{\"synps.shards\":";
constexpr std::string_view kOwnKeys = "synps.";
constexpr std::size_t kNumberDigits = 5;
constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";

struct Stem {
  std::string_view stem;       // folder included
  std::string_view extension;  // with its dot, or empty
};

/// The last dot of the file's name starts the extension, but for one that starts the name.
Stem split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == path.npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos || dot <= name) return {path, {}};
  return {path.substr(0, dot), path.substr(dot)};
}

bool is_number(std::string_view text) {
  return text.size() == kNumberDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Parser {
 public:
  Parser(std::string_view json, const std::string& file) : file_(file), text_(padded_text(json)) {
    if (json.starts_with(kLfsPointer))
      throw Error({.code = ErrorCode::artifact,
                   .file = file,
                   .what = "a file of another kind than wanted",
                   .found = "a git-lfs pointer, not the file itself",
                   .want = "a shard index",
                   .hint = "fetch the file with `git lfs pull`"});
    const auto error = parser_.parse(text_).get(root_);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error != simdjson::SUCCESS) fail("", "JSON", simdjson::error_message(error));
  }

  ArtifactShards parse() {
    check_version();
    const simdjson::dom::element metadata = field(root_, "", "metadata", 2);
    const simdjson::dom::element map = field(root_, "", "weight_map", 2);
    parse_metadata(metadata);
    for (const auto& [name, value] : object(map, "weight_map")) parse_entry(name, value);
    std::sort(shards_.entries.begin(), shards_.entries.end(), by_name);
    const auto twice =
        std::adjacent_find(shards_.entries.begin(), shards_.entries.end(),
                           [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice != shards_.entries.end()) fail("weight_map", "no entry twice", quote(twice->name));
    return std::move(shards_);
  }

 private:
  static bool by_name(const ArtifactShards::Entry& a, const ArtifactShards::Entry& b) {
    return a.name < b.name;
  }

  [[noreturn]] void fail(std::string field, std::string want, std::string found = {}) const {
    throw Error({.code = ErrorCode::artifact,
                 .file = file_,
                 .what = "the shard index is not an artifact's, or malformed",
                 .field = std::move(field),
                 .found = std::move(found),
                 .want = std::move(want),
                 .hint = "it was not written by this version of synps, or it is damaged"});
  }

  simdjson::dom::object object(simdjson::dom::element element, const std::string& place) const {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) fail(place, "an object");
    return object;
  }

  std::string_view string(simdjson::dom::element element, const std::string& place) const {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) fail(place, "a string");
    return text;
  }

  /// A field of an object that has `fields` of them, none twice.
  simdjson::dom::element field(simdjson::dom::element from, const std::string& place,
                               std::string_view key, std::size_t fields) const {
    const simdjson::dom::object own = object(from, place);
    simdjson::dom::element value;
    const std::string name = place.empty() ? std::string(key) : place + "." + std::string(key);
    if (own.at_key(key).get(value) != simdjson::SUCCESS) fail(name, "a value");
    if (own.size() != fields) fail(place, "no other or repeated fields");
    return value;
  }

  /// First of all: another version may have other fields.
  void check_version() const {
    simdjson::dom::element metadata;
    simdjson::dom::element version;
    if (object(root_, "").at_key("metadata").get(metadata) != simdjson::SUCCESS)
      fail("metadata", "a value");
    if (object(metadata, "metadata").at_key("synps.version").get(version) != simdjson::SUCCESS)
      fail("metadata.synps.version", "a value");
    const std::string_view found = string(version, "metadata.synps.version");
    if (found != std::to_string(kArtifactVersion))
      throw Error(version_problem(file_, "metadata.synps.version", found));
  }

  void parse_metadata(simdjson::dom::element metadata) {
    if (field(metadata, "metadata", "total_size", 3).get(shards_.total_bytes) != simdjson::SUCCESS)
      fail("metadata.total_size", "an integer from 0 to 2^64 - 1");
    const std::string place = "metadata.synps.shards";
    for (const auto& [name, value] :
         object(field(metadata, "metadata", "synps.shards", 3), place)) {
      if (!is_plain_file_name(name))
        fail(place, "names of files in the folder of the index", quote(name));
      const auto digest = digest_from_hex(string(value, place));
      if (!digest) fail(place + "." + std::string(name), "32 hex digits");
      shards_.shards.push_back({std::string(name), *digest});
    }
    check_shards(place);
  }

  void check_shards(const std::string& place) {
    auto& shards = shards_.shards;
    if (shards.empty()) fail(place, "at least one shard");
    if (shards.size() > kMaxShards)
      fail(place, fmt::format("at most {} shards", kMaxShards), fmt::format("{}", shards.size()));
    std::sort(shards.begin(), shards.end(),
              [](const auto& a, const auto& b) { return a.file < b.file; });
    for (std::size_t i = 1; i < shards.size(); ++i)
      if (shards[i - 1].file == shards[i].file)
        fail(place, "no shard twice", quote(shards[i].file));
  }

  void parse_entry(std::string_view name, simdjson::dom::element value) {
    const std::string_view file = string(value, "weight_map");
    const auto& shards = shards_.shards;
    const auto at = std::lower_bound(shards.begin(), shards.end(), file,
                                     [](const auto& a, std::string_view b) { return a.file < b; });
    if (at == shards.end() || at->file != file)
      fail("weight_map key " + quote(name), "a shard of metadata.synps.shards", quote(file));
    shards_.entries.push_back({std::string(name), static_cast<std::size_t>(at - shards.begin())});
  }

  const std::string& file_;
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
  ArtifactShards shards_;
};

std::string read_text(const InputFile& file) {
  if (file.size() > kMaxHeaderBytes)
    throw Error({.code = ErrorCode::limit,
                 .file = file.path(),
                 .what = "the shard index is too large",
                 .found = fmt::format("{} bytes", file.size()),
                 .want = fmt::format("at most {}", kMaxHeaderBytes)});
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

std::string shard_name(const std::string& name, std::uint64_t number, std::uint64_t count) {
  const Stem parts = split(name);
  return fmt::format("{}-{:05}-of-{:05}{}", parts.stem, number + 1, count, parts.extension);
}

std::string shard_index_name(const std::string& name) {
  return name + std::string(kShardIndexEnd);
}

bool is_shard_name(std::string_view file, std::string_view name) {
  const Stem parts = split(name);
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kMiddle = 1 + kNumberDigits + kOf.size() + kNumberDigits;
  if (file.size() != name.size() + kMiddle || !file.starts_with(parts.stem) ||
      !file.ends_with(parts.extension))
    return false;
  const std::string_view middle = file.substr(parts.stem.size(), kMiddle);
  return middle.front() == '-' && is_number(middle.substr(1, kNumberDigits)) &&
         middle.substr(1 + kNumberDigits, kOf.size()) == kOf &&
         is_number(middle.substr(1 + kNumberDigits + kOf.size()));
}

std::optional<ShardName> parse_shard_name(std::string_view path) {
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kNumbers = 1 + kNumberDigits + kOf.size() + kNumberDigits;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::size_t stem = split(file).stem.size();
  if (stem < kNumbers) return std::nullopt;
  ShardName name;
  name.artifact = std::string(file.substr(0, stem - kNumbers)) + std::string(file.substr(stem));
  if (!is_shard_name(file, name.artifact)) return std::nullopt;
  const std::string_view numbers = file.substr(stem - kNumbers + 1, kNumbers - 1);
  for (const char digit : numbers.substr(0, kNumberDigits))
    name.number = 10 * name.number + static_cast<std::uint64_t>(digit - '0');
  for (const char digit : numbers.substr(kNumberDigits + kOf.size()))
    name.count = 10 * name.count + static_cast<std::uint64_t>(digit - '0');
  if (name.number == 0 || name.number > name.count) return std::nullopt;
  return name;
}

void ArtifactShards::add(std::string file, const Digest& digest, const ArtifactIndex& index) {
  for (const StoredWeight& weight : index.weights)
    for (const StoredComponent& stored : weight.components) {
      entries.push_back({stored.entry, shards.size()});
      // Sums of an index that is not to be trusted may wrap; then they only differ.
      total_bytes += stored.stored_bytes;
    }
  shards.push_back({std::move(file), digest});
}

void ArtifactShards::sort() {
  std::vector<std::size_t> order(shards.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return shards[a].file < shards[b].file; });
  std::vector<std::size_t> place(shards.size());
  std::vector<Shard> sorted;
  for (const std::size_t i : order) {
    place[i] = sorted.size();
    sorted.push_back(std::move(shards[i]));
  }
  shards = std::move(sorted);
  for (Entry& entry : entries) entry.shard = place[entry.shard];
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
}

std::string to_json(const ArtifactShards& shards) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object().key("synps.shards").begin_object();
  for (const ArtifactShards::Shard& shard : shards.shards)
    json.key(shard.file).string(to_hex(shard.index));
  json.end_object();
  json.key("synps.version").string(std::to_string(kArtifactVersion));
  json.key("total_size").integer(shards.total_bytes).end_object();
  json.key("weight_map").begin_object();
  for (const ArtifactShards::Entry& entry : shards.entries)
    json.key(entry.name).string(shards.shards[entry.shard].file);
  json.end_object().end_object();
  return json.take();
}

ArtifactShards parse_artifact_shards(std::string_view json, const std::string& file) {
  return Parser(json, file).parse();
}

ArtifactShards read_artifact_shards(const InputFile& file) {
  return parse_artifact_shards(read_text(file), file.path());
}

bool is_artifact_shard_index(const InputFile& file) {
  if (file.size() > kMaxHeaderBytes) return false;
  const std::string text = read_text(file);
  if (text.starts_with(kStart)) return true;  // also where the rest of it is damaged
  simdjson::dom::parser parser;
  const simdjson::padded_string padded = padded_text(text);
  simdjson::dom::object metadata;
  if (parser.parse(padded).at_key("metadata").get(metadata) != simdjson::SUCCESS) return false;
  for (const auto& [key, value] : metadata)
    if (key.starts_with(kOwnKeys)) return true;
  return false;
}

}  // namespace synps
