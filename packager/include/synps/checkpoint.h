#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "synps/file.h"
#include "synps/weight.h"

namespace synps {

/// A tensor where a checkpoint stores it.
struct SourceTensor {
  Weight weight;
  std::size_t file = 0;      ///< index into Checkpoint::files()
  std::uint64_t offset = 0;  ///< bytes from the start of that file
  std::uint64_t bytes = 0;
};

/// A source of weights: one safetensors file, shards with an index, or a Hugging Face folder.
class Checkpoint {
 public:
  /// `path` is one of
  /// - a safetensors file, also one shard of several: then just what that file holds;
  /// - a shard index, `*.index.json`, whose shards lie beside it;
  /// - a folder: of `model.safetensors`, `model.safetensors.index.json` and the only
  ///   `*.safetensors` in it, the first that exists. As Hugging Face's transformers does, the
  ///   single file goes before the index.
  ///
  /// Reads and validates every header, and no tensor data. The tensors of an index and of its
  /// shards must be the same. Throws Error(checkpoint) for a malformed source (all problems of a
  /// shard index together) and for a synps artifact; Error(io), Error(limit).
  static Checkpoint open(const std::string& path, Os& os = Os::posix());

  const std::string& path() const noexcept { return path_; }
  /// By the bytes of the path.
  const std::vector<SourceTensor>& tensors() const noexcept { return tensors_; }
  /// `__metadata__` of all files. A key whose values agree wherever it stands is there once. One
  /// whose values differ between shards is there once a shard, as `KEY@SHARDFILE`, verbatim.
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  const std::vector<InputFile>& files() const noexcept { return files_; }
  /// Everything that must not be overwritten: data files and the shard index.
  const std::vector<FileIdentity>& inputs() const noexcept { return inputs_; }
  std::uint64_t data_bytes() const noexcept;  ///< of all tensors

  /// Bytes of a tensor from `offset` in it. Throws Error(io).
  void read(const SourceTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const;
  /// Throws Error(checkpoint) when a file changed since it was opened.
  void check_unchanged() const;

 private:
  std::string path_;
  std::vector<InputFile> files_;
  std::vector<FileIdentity> inputs_;
  std::vector<SourceTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace synps
