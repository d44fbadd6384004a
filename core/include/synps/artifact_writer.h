#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/file.h"
#include "synps/frame_compressor.h"
#include "synps/weight_writer.h"

namespace synps {

/// Puts an artifact's bytes at the places its layout names. write() and set_digest() may be called
/// from any number of threads, for ranges that do not overlap.
///
/// Compressed components lie one behind the other, so that the place of a frame depends on all
/// before it. There are two ways to write one:
/// - write() its true bytes. They wait at a place that no frame before them reaches, until
///   compress_written() or finish() makes frames of them;
/// - make frames and put each at next_frame(): those of one thread, or of several that take turns.
/// Either way frames come in data order.
class ArtifactWriter final : public WeightWriter {
 public:
  /// `file` outlives the writer. Allocates the whole file.
  ArtifactWriter(AtomicFile& file, const ArtifactLayout& layout);

  /// Writes true bytes of a component, `offset` counted in the component.
  void write(std::size_t weight, std::size_t component, std::uint64_t offset,
             std::span<const std::byte> bytes) override;

  std::uint64_t shared_block_bytes() const noexcept override { return file_.shared_block_bytes(); }
  /// Of a compressed component no more than a chunk.
  std::uint64_t share(std::size_t weight, std::size_t component, std::uint64_t offset,
                      const InputFile& from, std::uint64_t from_offset,
                      std::uint64_t size) override;
  std::uint64_t file_offset(std::size_t weight, std::size_t component,
                            std::uint64_t offset) const override;
  /// Reads back true bytes of a component that were written; of a compressed one those of one chunk
  /// that is no frame yet.
  void read(std::size_t weight, std::size_t component, std::uint64_t offset,
            std::span<std::byte> out) const override;

  bool takes_digests() const noexcept override { return true; }
  /// Tells the digest of a chunk that the caller has hashed while writing it (for the last chunk:
  /// true bytes and padding). Chunks that nobody tells are read back by finish(). Nothing is told
  /// so about compressed components, whose frames are what is hashed.
  void set_digest(std::size_t weight, std::size_t component, std::uint64_t chunk,
                  const Digest& digest) override;

  /// Offset in the file of the next frame.
  std::uint64_t next_frame() const noexcept { return next_frame_; }
  /// Writes bytes of a frame. `offset` is in the file, not before what next_frame() was when the
  /// frame had its turn.
  void write_frame(std::uint64_t offset, std::span<const std::byte> bytes) {
    file_.write(offset, bytes);
  }
  /// Says that the frame at next_frame() is the one of this chunk, which is the next in data order,
  /// and that it has `size` bytes. They may be written later.
  void set_frame(std::size_t weight, std::size_t component, std::uint64_t chunk, std::uint64_t size,
                 const Digest& digest);

  /// Makes frames of the true bytes of a component, all of which were written; it is the next in
  /// data order. Takes the level from what was asked of the weight.
  void compress_written(std::size_t weight, std::size_t component, FrameCompressor& compressor);

  /// Writes sums, index and header, and cuts the file to its size. Every true byte must have been
  /// written. Does not commit the file. Returns the layout with the true sizes where the one given
  /// had bounds.
  std::optional<ArtifactLayout> finish();
  /// The digest of the padded index, once finish() has written it.
  const Digest& index_digest() const noexcept { return index_digest_; }

 private:
  std::uint64_t place_of(const StoredComponent& stored, std::uint64_t offset) const;
  void compress_chunk(std::size_t weight, std::size_t component, std::uint64_t chunk,
                      FrameCompressor& compressor);
  void compress_rest();
  void read_back_digests();
  void put_digest(const StoredComponent& stored, std::uint64_t chunk, const Digest& digest);
  ArtifactLayout true_layout() const;

  AtomicFile& file_;
  const ArtifactLayout& layout_;
  std::vector<std::byte> sums_;  ///< the digests, as they will be written
  std::vector<std::uint8_t> known_;
  std::uint64_t plain_ = 0;            ///< digests of components that are not compressed
  std::vector<std::uint64_t> frames_;  ///< sizes of the frames that have their place
  std::uint64_t next_frame_ = 0;
  Digest index_digest_{};
  std::vector<std::byte> buffer_;  ///< of compress_written() and finish()
};

}  // namespace synps
