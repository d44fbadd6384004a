#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/file.h"

namespace synps {

/// The most files that an artifact may be cut into: their numbers have five digits.
inline constexpr std::uint64_t kMaxShards = 99'999;

/// Name of a shard of an artifact called `name`, as Hugging Face names them: of `model.synps` shard
/// 0 of 3 is `model-00001-of-00003.synps`. A path's folder stays.
std::string shard_name(const std::string& name, std::uint64_t number, std::uint64_t count);

/// What the name of a shard index ends with.
inline constexpr std::string_view kShardIndexEnd = ".index.json";

/// Name of the shard index: `model.synps.index.json`.
std::string shard_index_name(const std::string& name);

/// Whether `file` is what some shard of an artifact called `name` is called, whatever the count.
/// Both are names without a folder.
bool is_shard_name(std::string_view file, std::string_view name);

/// What a shard index says. Every shard is an artifact of its own weights; the index says which
/// belong together, and knows each by its digest, so that a shard of another run is noticed.
struct ArtifactShards {
  struct Shard {
    std::string file{};  ///< name, in the folder of the index
    Digest index{};      ///< of the shard's padded index entry: `synps.index` of its metadata
    bool operator==(const Shard&) const = default;
  };
  struct Entry {
    std::string name{};     ///< of a safetensors entry that belongs to a weight
    std::size_t shard = 0;  ///< number of its file
    bool operator==(const Entry&) const = default;
  };
  std::uint64_t total_bytes = 0;  ///< of all entries
  std::vector<Shard> shards{};    ///< by the bytes of the name
  std::vector<Entry> entries{};   ///< by the bytes of the name

  /// Adds a shard and its weights' entries, and their bytes.
  void add(std::string file, const Digest& digest, const ArtifactIndex& index);
  /// To be called after the last add().
  void sort();
  bool operator==(const ArtifactShards&) const = default;
};

/// The text of the index file: canonical JSON. Its length does not depend on the digests' values.
std::string to_json(const ArtifactShards& shards);

/// The reverse; also takes other white space and sequences. Throws Error(artifact), naming `file`
/// and the field, for anything else: missing, unknown, repeated or ill-typed fields, shards whose
/// names are no plain file names, entries in shards that are not listed, another version.
ArtifactShards parse_artifact_shards(std::string_view json, const std::string& file);

/// The same for a file. Throws also Error(io), and Error(limit) for a file over 100,000,000 bytes.
ArtifactShards read_artifact_shards(const InputFile& file);

/// Whether the file is a shard index that says it is an artifact's. Throws Error(io).
bool is_artifact_shard_index(const InputFile& file);

}  // namespace synps
