#include "checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gguf_parts.h"
#include "synps/artifact_shards.h"
#include "synps/file_kind.h"
#include "synps/folder.h"
#include "synps/gguf.h"
#include "synps/output_kind.h"

namespace synps {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxListed = 10;

Error an_artifact(const std::string& path, std::string field) {
  return Error(
      {.code = ErrorCode::checkpoint,
       .file = path,
       .what = "the file is a synps artifact, not a checkpoint",
       .field = std::move(field),
       .hint =
           "use the checkpoint it was packed from; for another artifact, `synps unpack` it first"});
}

/// Whether the folder has an entry of that name, of any kind: a link that leads nowhere is a
/// checkpoint that cannot be opened, not one that is not there.
bool has_entry(Os& os, const std::string& folder, std::string_view name) {
  FileStatus status;
  return os.status(join_path(folder, std::string(name)), false, status) == 0;
}

std::string list_names(const std::vector<std::string>& names) {
  if (names.empty()) return "an empty folder";
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < kMaxListed; ++i)
    list += (i == 0 ? "" : ", ") + quote(names[i]);
  if (names.size() > kMaxListed) list += fmt::format(" and {} more", names.size() - kMaxListed);
  return list;
}

/// What to do about a folder without one clear checkpoint.
std::string folder_hint(const std::vector<std::string>& names,
                        const std::vector<std::string>& safetensors) {
  const auto index = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.ends_with(".safetensors.index.json");
  });
  if (index != names.end()) return "name the shard index: " + quote(*index);
  return safetensors.empty() ? "" : "name the file that is meant";
}

/// The names of GGUF checkpoints; of one in parts, its first part's that is there.
std::vector<std::string> gguf_names(const std::vector<std::string>& names) {
  std::vector<std::string> checkpoints;
  std::string parts_of;  // the last one, by the name of its part 1
  for (const std::string& name : names) {
    if (!is_gguf_name(name)) continue;
    const auto part = parse_gguf_part_name(name);
    std::string first = part ? part->part(1) : std::string();
    // Sorted by name: parts of one checkpoint follow each other.
    if (!part || first != parts_of) checkpoints.push_back(name);
    parts_of = std::move(first);
  }
  return checkpoints;
}

}  // namespace

bool opens_as_gguf(Os& os, const std::string& path) {
  if (path.ends_with(".index.json")) return false;
  const InputFile file(os, path);
  std::array<char, kKindBytes> buffer;
  const auto size = std::min<std::uint64_t>(buffer.size(), file.size());
  file.read(0, std::as_writable_bytes(std::span(buffer)).first(size));
  const std::string_view head(buffer.data(), size);
  if (is_gguf(head)) return true;
  if (!is_gguf_name(path)) return false;
  refuse_other_kinds(head, path, {.name = "a GGUF file"});
  return true;
}

std::string join_path(const std::string& folder, const std::string& name) {
  if (folder.empty() || folder.ends_with('/')) return folder + name;
  return folder + "/" + name;
}

CheckpointFile open_checkpoint_file(Os& os, const std::string& path, const std::string& name) {
  InputFile file(os, path);
  SafetensorsHeader header = read_safetensors_header(file);
  if (header.metadata.contains("synps.index"))
    throw an_artifact(path, "__metadata__ key 'synps.index'");
  return {std::move(file), std::move(header), name};
}

void refuse_artifact_index(const InputFile& index) {
  if (is_artifact_shard_index(index)) throw an_artifact(index.path(), "metadata");
}

bool holds_gguf_alone(const std::string& folder) {
  const std::vector<std::string> names = visible_names(folder);
  return !gguf_names(names).empty() &&
         std::none_of(names.begin(), names.end(),
                      [](const std::string& name) { return name.ends_with(".safetensors"); });
}

std::string checkpoint_in_folder(Os& os, const std::string& folder) {
  for (const std::string_view name : {kSingle, kIndex})
    if (has_entry(os, folder, name)) return join_path(folder, std::string(name));
  const std::vector<std::string> names = visible_names(folder);
  std::vector<std::string> safetensors;
  std::copy_if(names.begin(), names.end(), std::back_inserter(safetensors),
               [](const std::string& name) { return name.ends_with(".safetensors"); });
  if (safetensors.size() == 1) return join_path(folder, safetensors.front());
  const std::vector<std::string> ggufs = gguf_names(names);
  if (safetensors.empty() && ggufs.size() == 1) return join_path(folder, ggufs.front());
  if (safetensors.empty() && !ggufs.empty())
    throw Error({.code = ErrorCode::checkpoint,
                 .file = folder,
                 .what = "the folder holds several GGUF checkpoints",
                 .found = list_names(ggufs),
                 .want = "one",
                 .hint = "name the file that is meant"});
  for (const std::string& name : names)
    if (name.ends_with(".index.json"))
      refuse_artifact_index(InputFile(os, join_path(folder, name)));
  const bool none = safetensors.empty();
  throw Error({.code = ErrorCode::checkpoint,
               .file = folder,
               .what = none ? "the folder holds no checkpoint"
                            : "the folder holds several safetensors files",
               .found = list_names(none ? names : safetensors),
               .want = fmt::format("{}, {}, or a single *.safetensors or *.gguf", kSingle, kIndex),
               .hint = folder_hint(names, safetensors)});
}

}  // namespace synps
