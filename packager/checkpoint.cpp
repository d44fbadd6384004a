#include "synps/checkpoint.h"

#include <algorithm>
#include <utility>

#include "checkpoint_files.h"
#include "synps/checked.h"

namespace synps {
namespace {

bool is_folder(Os& os, const std::string& path) {
  FileStatus status;
  return os.status(path, true, status) == 0 && status.kind == FileStatus::Kind::directory;
}

/// The tensors of file number `file`, taken out of its header.
void take_tensors(SafetensorsHeader& header, std::size_t file, std::vector<SourceTensor>& tensors) {
  for (SafetensorsEntry& entry : header.entries) {
    SourceTensor& tensor = tensors.emplace_back();
    tensor.weight = {std::move(entry.name), std::move(entry.shape), entry.dtype};
    tensor.file = file;
    tensor.offset = header.data_start + entry.begin;
    tensor.bytes = entry.end - entry.begin;
  }
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path, Os& os) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  const std::string source = is_folder(os, path) ? checkpoint_in_folder(os, path) : path;

  std::vector<CheckpointFile> files;
  if (source.ends_with(".index.json")) {
    const InputFile index(os, source);
    files = open_shards(index);
    checkpoint.inputs_.push_back(index.identity());
  } else {
    files.push_back(open_checkpoint_file(os, source, source));
  }

  checkpoint.metadata_ = merge_metadata(files, source);
  checkpoint.files_.reserve(files.size());
  for (CheckpointFile& file : files) {
    take_tensors(file.header, checkpoint.files_.size(), checkpoint.tensors_);
    checkpoint.inputs_.push_back(file.file.identity());
    checkpoint.files_.push_back(std::move(file.file));
  }
  std::sort(
      checkpoint.tensors_.begin(), checkpoint.tensors_.end(),
      [](const SourceTensor& a, const SourceTensor& b) { return a.weight.path < b.weight.path; });
  return checkpoint;
}

std::uint64_t Checkpoint::data_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const SourceTensor& tensor : tensors_) bytes += tensor.bytes;
  return bytes;
}

void Checkpoint::read(const SourceTensor& tensor, std::uint64_t offset,
                      std::span<std::byte> out) const {
  if (!range_fits(offset, out.size(), tensor.bytes))
    throw Error({.code = ErrorCode::usage,
                 .file = files_.at(tensor.file).path(),
                 .what = "a read past the end of a tensor",
                 .field = "tensor " + quote(tensor.weight.path)});
  files_.at(tensor.file).read(tensor.offset + offset, out);
}

void Checkpoint::check_unchanged() const {
  for (const InputFile& file : files_) file.check_unchanged();
}

}  // namespace synps
