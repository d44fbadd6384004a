#include "storage_bytes.h"

#include "loaded_artifact.h"

namespace synps {

std::span<const std::byte> StorageBytes::frame(std::size_t, std::uint64_t) const {
  return {};
}

std::span<const std::byte> LoadedBytes::component(std::size_t c) const {
  return artifact_->component(number_, c);
}

OwnedBytes::OwnedBytes(const std::vector<std::uint64_t>& sizes) {
  components_.reserve(sizes.size());
  for (const std::uint64_t size : sizes) components_.emplace_back(allocate_bytes(size), size);
}

OwnedFrames::OwnedFrames(const std::vector<std::uint64_t>& chunks) {
  frames_.reserve(chunks.size());
  for (const std::uint64_t count : chunks) frames_.emplace_back(count);
}

std::span<const std::byte> OwnedFrames::component(std::size_t) const {
  return {};
}

std::uint64_t OwnedFrames::bytes(std::size_t c) const noexcept {
  std::uint64_t bytes = 0;
  for (const std::vector<std::byte>& frame : frames_[c]) bytes += frame.size();
  return bytes;
}

}  // namespace synps
