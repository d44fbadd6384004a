#include "chunk_source.h"

namespace synps {
namespace {

constexpr std::size_t kFramePieceBytes = 256 * 1024;

}  // namespace

void ChunkSource::read_from(const ArtifactReader& file) {
  file_ = &file;
  if (inflater_) inflater_->read_from(file);
}

void ChunkSource::release() noexcept {
  inflater_.reset();
  piece_ = {};
}

void ChunkSource::read(const StoredWeight& weight, const StoredComponent& component,
                       std::uint64_t chunk, std::span<std::byte> out) {
  const std::uint64_t begin = component.chunk_begin(chunk);
  if (!component.compressed()) {
    file_->file().read(file_->file_offset(component) + begin, out);
    if (verify_) file_->check_chunk(weight, component, chunk, out);
    return;
  }
  // A frame is compared before it is trusted with the memory of its content.
  if (verify_) {
    if (piece_.empty()) piece_.resize(kFramePieceBytes);
    file_->read_and_check_chunk(weight, component, chunk, piece_);
  }
  if (!inflater_) inflater_.emplace(*file_);
  inflater_->read(weight, component, begin, out);
}

}  // namespace synps
