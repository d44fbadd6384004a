#include "shard_index.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <new>
#include <span>
#include <tuple>

#include "json_document.h"
#include "synps/file_kind.h"
#include "synps/folder.h"
#include "synps/padded_text.h"

namespace synps {
namespace {

using simdjson::ondemand::value;

/// As much as a safetensors header may have: an index names the same tensors.
constexpr std::uint64_t kMaxIndexBytes = 100'000'000;

class IndexParser {
 public:
  IndexParser(JsonDocument& json, ShardIndexProblems& problems)
      : json_(json), problems_(problems) {}

  ShardIndex parse() {
    json_.walk([&](const JsonKey& key, value& field) {
      if (key.name == "weight_map")
        parse_weight_map(key, field);
      else if (key.name == "metadata")
        parse_metadata(key, field);
    });
    if (!has_map_)
      json_.fail({.what = "the shard index has no weight_map", .want = "an object of file names"},
                 nullptr);
    return finish();
  }

 private:
  struct Mapped {
    std::string tensor;
    const std::string* shard = nullptr;  ///< a key of shards_
    const char* at = nullptr;            ///< the tensor's key
  };

  void parse_metadata(const JsonKey& key, value& field) {
    if (has_metadata_) json_.fail({.what = "a key stands twice", .field = "metadata"}, key.at);
    has_metadata_ = true;
    json_.object(field, {.field = "metadata"});
  }

  void parse_weight_map(const JsonKey& key, value& field) {
    if (has_map_) json_.fail({.what = "a key stands twice", .field = "weight_map"}, key.at);
    has_map_ = true;
    json_.each_field(json_.object(field, {.field = "weight_map"}),
                     [&](const JsonKey& tensor, value& shard) { parse_mapping(tensor, shard); });
    if (shards_.empty())
      json_.fail({.what = "the weight_map is empty", .want = "at least one tensor"}, key.at);
  }

  void parse_mapping(const JsonKey& tensor, value& shard) {
    const JsonField where{.kind = "weight_map key", .name = tensor.name};
    const char* at = JsonDocument::place(shard);
    const auto inserted = shards_.try_emplace(std::string(json_.string(shard, where)));
    const std::string& name = inserted.first->first;
    if (inserted.second && !is_plain_file_name(name))
      problems_.add([&] {
        return json_.problem({.what = "a shard's name is not a plain file name",
                              .field = where.text(),
                              .found = quote(name),
                              .want = "a file in the folder of the index"},
                             at);
      });
    mapped_.push_back({std::string(tensor.name), &name, tensor.at});
  }

  /// By sorting and not by hashing: no choice of names makes it slow.
  ShardIndex finish() {
    std::sort(mapped_.begin(), mapped_.end(), [](const Mapped& a, const Mapped& b) {
      return std::tie(a.tensor, a.at) < std::tie(b.tensor, b.at);
    });
    ShardIndex index;
    for (auto& [name, number] : shards_) {
      number = index.shards.size();
      if (is_plain_file_name(name)) index.shards.push_back(name);
    }
    for (Mapped& mapped : mapped_) {
      if (!index.tensors.empty() && index.tensors.back().name == mapped.tensor)
        problems_.add([&] {
          return json_.problem(
              {.what = "a tensor stands twice in the shard index", .field = quote(mapped.tensor)},
              mapped.at);
        });
      else if (is_plain_file_name(*mapped.shard))
        index.tensors.push_back({std::move(mapped.tensor), shards_.find(*mapped.shard)->second});
    }
    return index;
  }

  JsonDocument& json_;
  ShardIndexProblems& problems_;
  bool has_map_ = false;
  bool has_metadata_ = false;
  std::map<std::string, std::size_t> shards_;
  std::vector<Mapped> mapped_;
};

ShardIndex parse(simdjson::padded_string text, const std::string& file,
                 ShardIndexProblems& problems) {
  JsonDocument json(
      std::move(text),
      {.file = file, .what = "the shard index", .is_text_file = true, .max_depth = 64});
  return IndexParser(json, problems).parse();
}

}  // namespace

void ShardIndexProblems::throw_if_any() const {
  if (problems_.empty()) return;
  std::vector<Problem> all = problems_;
  if (untold_ != 0)
    all.push_back({.code = all.front().code,
                   .file = file_,
                   .what = fmt::format("{} more problems like these", untold_)});
  throw Error(std::move(all));
}

ShardIndex parse_shard_index(std::string_view json, const std::string& file,
                             ShardIndexProblems& problems) {
  return parse(padded_text(json), file, problems);
}

ShardIndex read_shard_index(const InputFile& file, ShardIndexProblems& problems) {
  if (file.size() > kMaxIndexBytes)
    throw Error({.code = ErrorCode::limit,
                 .file = file.path(),
                 .what = "the shard index is too large",
                 .found = fmt::format("{} bytes", file.size()),
                 .want = fmt::format("at most {}", kMaxIndexBytes)});
  simdjson::padded_string text = padded_buffer(file.size());
  if (file.size() != 0 && text.data() == nullptr) throw std::bad_alloc();
  file.read(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  const std::string_view head = std::string_view(text.data(), text.size()).substr(0, kKindBytes);
  refuse_other_kinds(head, file.path(), {.name = "a shard index", .json = true});
  return parse(std::move(text), file.path(), problems);
}

}  // namespace synps
