#include "synps/checkpoint.h"

#include <algorithm>
#include <utility>

#include "artifact_input.h"
#include "checkpoint_files.h"
#include "companion_scales.h"
#include "packed_schemes.h"
#include "synps/artifact_set.h"
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
    tensor.encoding = encoding_name(entry.dtype);
    const unsigned bits = dtype_bits(entry.dtype);
    tensor.block_elements = bits % 8 == 0 ? 1 : 8;  // whole bytes, whatever the dtype
    tensor.block_bytes = bits % 8 == 0 ? bits / 8 : bits;
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
  if (opens_as_gguf(os, source))
    checkpoint.open_gguf(source, os);
  else
    checkpoint.open_safetensors(source, os);
  std::sort(
      checkpoint.tensors_.begin(), checkpoint.tensors_.end(),
      [](const SourceTensor& a, const SourceTensor& b) { return a.weight.path < b.weight.path; });
  if (checkpoint.gguf_version_ == 0) {  // GGUF has scales in its blocks
    find_packed_schemes(checkpoint.tensors_, checkpoint.faults_);
    bind_scales(checkpoint.tensors_, checkpoint.faults_);
  }
  return checkpoint;
}

void Checkpoint::open_safetensors(const std::string& source, Os& os) {
  std::vector<CheckpointFile> files;
  if (source.ends_with(".index.json")) {
    const InputFile index(os, source);
    refuse_artifact_index(index);
    files = open_shards(index);
    inputs_.push_back(index.identity());
  } else {
    files.push_back(open_checkpoint_file(os, source, source));
  }

  metadata_ = merge_metadata(files, source);
  files_.reserve(files.size());
  for (CheckpointFile& file : files) {
    take_tensors(file.header, files_.size(), tensors_);
    inputs_.push_back(file.file.identity());
    files_.push_back(std::move(file.file));
  }
}

Weight kept_weight(const SourceTensor& tensor) {
  if (tensor.stored != nullptr || tensor.encoding == encoding_name(tensor.weight.dtype) ||
      is_key_value_encoding(tensor.encoding))
    return tensor.weight;
  std::vector<std::uint64_t> extents = tensor.weight.shape.extents();
  if (extents.empty()) extents.push_back(1);
  extents.back() = tensor.bytes_of(tensor.weight.shape.columns());
  return {tensor.weight.path, Shape(std::move(extents)), DType::u8};
}

std::uint64_t Checkpoint::data_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const SourceTensor& tensor : tensors_) bytes += tensor.bytes;
  return bytes;
}

void Checkpoint::read(const SourceTensor& tensor, std::uint64_t offset,
                      std::span<std::byte> out) const {
  if (artifact_ != nullptr || !range_fits(offset, out.size(), tensor.bytes))
    throw Error({.code = ErrorCode::usage,
                 .file = file_of(tensor).path(),
                 .what = artifact_ != nullptr ? "a read of stored bytes as a checkpoint's"
                                              : "a read past the end of a tensor",
                 .field = "tensor " + quote(tensor.weight.path)});
  files_.at(tensor.file).read(tensor.offset + offset, out);
}

const InputFile& Checkpoint::file_of(const SourceTensor& tensor) const {
  return artifact_ != nullptr ? artifact_->files().at(tensor.file)->file() : files_.at(tensor.file);
}

std::uint64_t Checkpoint::file_bytes() const noexcept {
  if (artifact_ != nullptr) return artifact_->file_bytes();
  std::uint64_t bytes = 0;
  for (const InputFile& file : files_) bytes += file.size();
  return bytes;
}

void Checkpoint::check_unchanged() const {
  if (artifact_ != nullptr) return check_artifact_unchanged(*artifact_);
  for (const InputFile& file : files_) file.check_unchanged();
}

}  // namespace synps
