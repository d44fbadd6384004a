#pragma once

#include <map>
#include <string>
#include <vector>

#include "synps/file.h"
#include "synps/safetensors.h"

namespace synps {

/// A safetensors file of a checkpoint, its header read and sound.
struct CheckpointFile {
  InputFile file;
  SafetensorsHeader header;
  std::string name;  ///< as the shard index has it; the path for a file on its own
};

/// Opens a file and reads its header. Throws also Error(checkpoint) for a synps artifact.
CheckpointFile open_checkpoint_file(Os& os, const std::string& path, const std::string& name);

/// Throws Error(checkpoint) for a shard index of a synps artifact, Error(io).
void refuse_artifact_index(const InputFile& index);

/// Whether a file is to be read as GGUF: by its first bytes, or, where they say nothing, its name.
/// Throws Error(checkpoint) for a file of that name and of another kind, Error(io).
bool opens_as_gguf(Os& os, const std::string& path);

/// Whether a folder has GGUF files and no safetensors files. Throws Error(io).
bool holds_gguf_alone(const std::string& folder);

/// What a folder's checkpoint is, as Hugging Face loaders choose: `model.safetensors`, else
/// `model.safetensors.index.json`, else the only `*.safetensors`; else the only GGUF checkpoint,
/// by its first part where it has several. Throws Error(checkpoint) that
/// lists what is there when it is none of them, Error(io).
std::string checkpoint_in_folder(Os& os, const std::string& folder);

/// Opens the shards of an index and checks that they and the index agree. Throws Error with all
/// problems.
std::vector<CheckpointFile> open_shards(const InputFile& index);

/// The metadata of all files. A key whose values agree wherever it stands is kept once. A key whose
/// values differ is kept once a file, as `KEY@FILE`. Throws Error(checkpoint) when such a name is
/// taken.
std::map<std::string, std::string> merge_metadata(const std::vector<CheckpointFile>& files,
                                                  const std::string& path);

/// `folder/name`, or `name` for an empty folder.
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace synps
