#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/artifact_reader.h"
#include "synps/artifact_shards.h"

namespace synps {

/// An open artifact, in one file or in shards. Each file is an ArtifactReader; a weight lies in one
/// of them, whole.
class ArtifactSet {
 public:
  /// `path` is an artifact's file, also one shard of several (then just what that file holds); a
  /// shard index, `*.index.json`; or a folder that holds one. All shards are opened, and must be
  /// those that the index means, and hold what it says: the problems of all are thrown together.
  /// Throws Error(artifact), Error(io), Error(limit).
  explicit ArtifactSet(const std::string& path, Os& os = Os::posix());

  /// Whether `path` says that it is an artifact: a file as ArtifactReader::recognises(), a shard
  /// index of artifacts, or a folder that holds one such index and, but for its shards, no
  /// checkpoint. Never throws for the content; throws Error(io).
  static bool recognises(const std::string& path, Os& os = Os::posix());

  const std::string& path() const noexcept { return path_; }
  bool is_sharded() const noexcept { return shard_index_ != nullptr; }
  /// The shard index; null when there is none.
  const InputFile* shard_index() const noexcept { return shard_index_.get(); }
  /// By the bytes of the name.
  const std::vector<std::unique_ptr<ArtifactReader>>& files() const noexcept { return files_; }
  std::uint64_t file_bytes() const noexcept;  ///< of all files, the shard index included
  std::vector<FileIdentity> inputs() const;   ///< of all of them

  /// All weights, by the bytes of the path. Of shards, places and numbers of components are those
  /// in their files; version and values are those of all, digests are zeros.
  const ArtifactIndex& index() const noexcept { return merged_ ? *merged_ : files_[0]->index(); }
  /// The file that weight number `i` of the index is in.
  const ArtifactReader& file_of(std::size_t i) const noexcept { return *files_[file_number(i)]; }
  std::size_t file_number(std::size_t i) const noexcept { return merged_ ? places_[i] : 0; }
  /// The weight of that path, or null.
  const StoredWeight* find(std::string_view path) const noexcept;

  /// As in the file; of shards what all of them have.
  std::map<std::string, std::string> metadata() const;
  std::map<std::string, std::string> source_metadata() const {
    return files_[0]->source_metadata();
  }

  /// ArtifactReader::check_all() of every file, and the shard index down to its last byte.
  std::vector<Problem> check_all(const CodecRegistry* codecs = nullptr,
                                 const std::function<void(std::uint64_t)>& progress = nullptr,
                                 unsigned jobs = 1) const;
  /// The part of it that is about values.
  std::vector<Problem> check_values(const std::function<void(std::uint64_t)>& progress = nullptr,
                                    unsigned jobs = 1) const;

 private:
  void check_shard_index(std::vector<Problem>& problems) const;
  void open_shards(const std::string& index, Os& os);
  void merge();

  std::string path_;
  std::unique_ptr<InputFile> shard_index_;
  std::vector<std::unique_ptr<ArtifactReader>> files_;
  std::vector<std::string> names_;         ///< of shards
  std::unique_ptr<ArtifactIndex> merged_;  ///< of shards
  std::vector<std::uint32_t> places_;      ///< of weights of merged_: numbers of files
};

}  // namespace synps
