#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage_state.h"
#include "synps/frame_compressor.h"

namespace synps {

/// Takes the bytes of a storage that is being made, on the heap: plain, or as frames. Lanes take
/// the bytes of some rows each, at the same time.
class StorageWriter {
 public:
  /// `state` has all but its bytes, and outlives the writer. Throws Error(limit) without memory.
  explicit StorageWriter(StorageState& state);

  class Lane {
   public:
    /// `begin`: where the lane's first bytes of each component are: 0, or the end of a chunk where
    /// frames are made.
    Lane(StorageWriter& writer, const std::vector<std::uint64_t>& begin);
    /// The next bytes of a component. Throws Error(package) for more than there can be.
    void put(std::size_t c, std::span<const std::byte> bytes);

   private:
    struct Frame {
      FrameCompressor compressor{};
      std::vector<std::byte> bytes{};
      std::uint64_t chunk = 0;
      bool begun = false;
    };
    void compress(std::size_t c, std::span<const std::byte> bytes);

    StorageWriter& writer_;
    std::vector<std::uint64_t> at_;  ///< by component
    std::vector<std::unique_ptr<Frame>> frames_;
  };

  /// Gives the state its bytes. Throws Error(package) when some are missing.
  void finish();

 private:
  StorageState& state_;
  std::shared_ptr<OwnedBytes> bytes_{};
  std::shared_ptr<OwnedFrames> frames_{};
  std::vector<std::atomic<std::uint64_t>> missing_;  ///< by component
};

}  // namespace synps
