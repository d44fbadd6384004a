#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "heap_bytes.h"

namespace synps {

class LoadedArtifact;

/// Where the bytes of a storage are.
class StorageBytes {
 public:
  virtual ~StorageBytes() = default;
  /// True bytes of a component that is not compressed. May compare checksums, so it may throw.
  virtual std::span<const std::byte> component(std::size_t c) const = 0;
  /// The frame of a chunk of a compressed component.
  virtual std::span<const std::byte> frame(std::size_t c, std::uint64_t chunk) const;
  /// On the heap, and nothing else is kept alive for them.
  virtual bool owned() const noexcept { return false; }
};

/// A program's.
class BorrowedBytes final : public StorageBytes {
 public:
  BorrowedBytes(std::vector<std::span<const std::byte>> components,
                std::shared_ptr<const void> owner)
      : components_(std::move(components)), owner_(std::move(owner)) {}
  std::span<const std::byte> component(std::size_t c) const override { return components_[c]; }

 private:
  std::vector<std::span<const std::byte>> components_;
  std::shared_ptr<const void> owner_;
};

/// A weight of an open artifact, in the form that it was loaded in.
class LoadedBytes final : public StorageBytes {
 public:
  LoadedBytes(std::shared_ptr<const LoadedArtifact> artifact, std::size_t number)
      : artifact_(std::move(artifact)), number_(number) {}
  std::span<const std::byte> component(std::size_t c) const override;

 private:
  std::shared_ptr<const LoadedArtifact> artifact_;
  std::size_t number_;
};

/// One allocation a component.
class OwnedBytes final : public StorageBytes {
 public:
  /// Of these sizes, not initialised. Throws std::bad_alloc.
  explicit OwnedBytes(const std::vector<std::uint64_t>& sizes);
  std::span<const std::byte> component(std::size_t c) const override { return writable(c); }
  bool owned() const noexcept override { return true; }
  std::span<std::byte> writable(std::size_t c) const noexcept {
    return {components_[c].first.get(), components_[c].second};
  }

 private:
  std::vector<std::pair<HeapBytes, std::uint64_t>> components_;
};

/// Frames, one a chunk.
class OwnedFrames final : public StorageBytes {
 public:
  /// `chunks`: how many each component has.
  explicit OwnedFrames(const std::vector<std::uint64_t>& chunks);
  std::span<const std::byte> component(std::size_t c) const override;
  std::span<const std::byte> frame(std::size_t c, std::uint64_t chunk) const override {
    return frames_[c][chunk];
  }
  bool owned() const noexcept override { return true; }
  void set(std::size_t c, std::uint64_t chunk, std::vector<std::byte> frame) {
    frames_[c][chunk] = std::move(frame);
  }
  std::uint64_t bytes(std::size_t c) const noexcept;

 private:
  std::vector<std::vector<std::vector<std::byte>>> frames_;
};

}  // namespace synps
