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
  /// `path` is a `.safetensors` file, a `*.safetensors.index.json`, or a folder that holds
  /// `model.safetensors.index.json`, `model.safetensors`, or a single `*.safetensors`. Reads and
  /// validates every header, and no tensor data. Throws Error(checkpoint) for a malformed one,
  /// Error(io), Error(limit).
  static Checkpoint open(const std::string& path, Os& os = Os::posix());

  const std::string& path() const noexcept { return path_; }
  /// By the bytes of the path.
  const std::vector<SourceTensor>& tensors() const noexcept { return tensors_; }
  /// `__metadata__` of all files, merged.
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
