#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"
#include "synps/file.h"
#include "synps/frame.h"

namespace synps {

struct ComponentNumber;

/// An open artifact: header digest, index and the bounds of every component are checked when it
/// opens; bytes of components only when check_chunk() or check_all() is called.
class ArtifactReader {
 public:
  /// Throws Error(artifact) when the file is not a sound artifact, Error(io) when it cannot be
  /// read.
  explicit ArtifactReader(const std::string& path, Os& os = Os::posix());

  /// Whether the file is a safetensors file whose metadata says that synps wrote it. Never throws
  /// for the file's content; throws Error(io).
  static bool recognises(const std::string& path, Os& os = Os::posix());

  const std::string& path() const noexcept { return file_.path(); }
  const InputFile& file() const noexcept { return file_; }
  const ArtifactIndex& index() const noexcept { return index_; }
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  /// Bytes of the header, length field included, of the index and of the sums.
  std::uint64_t header_bytes() const noexcept { return data_start_; }
  std::uint64_t index_bytes() const noexcept { return index_bytes_; }
  std::uint64_t sums_bytes() const noexcept { return sums_bytes_; }
  /// The metadata that the source had: metadata() without what synps added.
  std::map<std::string, std::string> source_metadata() const;

  /// The weight of that path, or null.
  const StoredWeight* find(std::string_view path) const noexcept;

  /// True bytes of a component, mapped. Valid as long as the reader. Throws Error(usage) for a
  /// compressed component: its bytes are nowhere in the file (ComponentReader inflates them).
  std::span<const std::byte> bytes(const StoredComponent& component) const;
  /// Offset in the file of a component's first stored byte.
  std::uint64_t file_offset(const StoredComponent& component) const noexcept {
    return data_start_ + component.offset;
  }

  /// Where a chunk is stored.
  struct ChunkPlace {
    std::uint64_t offset = 0;  ///< in the file
    std::uint64_t size = 0;    ///< stored bytes: with padding, or of the frame
  };
  /// Throws Error(artifact) when the sums say a size that the chunk's frame cannot have, so that no
  /// memory need be taken for what a lying artifact announces.
  ChunkPlace place_of(const StoredWeight& weight, const StoredComponent& component,
                      std::uint64_t chunk) const;

  /// Compares a chunk's stored bytes with its digest. Throws Error(artifact) naming weight,
  /// component, rows and offset.
  void check_chunk(const StoredWeight& weight, const StoredComponent& component,
                   std::uint64_t chunk) const;

  /// The same for stored bytes that the caller has read: all of the chunk, padding included.
  void check_chunk(const StoredWeight& weight, const StoredComponent& component,
                   std::uint64_t chunk, std::span<const std::byte> bytes) const;

  /// The same without the mapping: the chunk is read in pieces into `buffer`, which is not empty.
  /// Throws also Error(io), when the file was cut meanwhile.
  void read_and_check_chunk(const StoredWeight& weight, const StoredComponent& component,
                            std::uint64_t chunk, std::span<std::byte> buffer) const;

  /// The error of a chunk whose frame is not what the format wants.
  Problem bad_frame(const StoredWeight& weight, const StoredComponent& component,
                    std::uint64_t chunk, const FrameFault& fault) const;

  /// Looks at every byte: header against index, names and offsets of every entry, padding, the
  /// sums and all chunks, whose frames it inflates. Returns the problems, none when the file is
  /// sound. With `codecs`, also that the components of codecs known there are what the codec would
  /// store. `progress` hears of bytes as they have been looked at, from any of `jobs` threads (0:
  /// one a core), and may throw. The problems are the same for any number. Throws Error(io).
  std::vector<Problem> check_all(const CodecRegistry* codecs = nullptr,
                                 const std::function<void(std::uint64_t)>& progress = nullptr,
                                 unsigned jobs = 1) const;

  /// The part of check_all() that is about values: every chunk against its digest.
  std::vector<Problem> check_values(const std::function<void(std::uint64_t)>& progress = nullptr,
                                    unsigned jobs = 1) const;

 private:
  void open_header();
  void open_index();
  void check_header_digest() const;
  void check_bounds() const;
  void check_digest_numbers() const;
  void read_frame_sizes();
  std::uint64_t data_size() const noexcept { return file_.size() - data_start_; }
  Problem chunk_problem(const StoredWeight& weight, const StoredComponent& component,
                        std::uint64_t chunk, std::uint64_t offset) const;
  Problem damaged_chunk(const StoredWeight& weight, const StoredComponent& component,
                        std::uint64_t chunk) const;
  std::uint64_t frame_end(const StoredComponent& component, std::uint64_t chunk) const noexcept;
  void check_header(std::vector<Problem>& problems) const;
  void check_placement(std::vector<Problem>& problems) const;
  void check_codecs(const CodecRegistry& codecs, std::vector<Problem>& problems) const;
  void check_padding(std::vector<Problem>& problems) const;
  void check_sums(unsigned jobs, const std::function<void(std::uint64_t)>& progress,
                  std::vector<Problem>& problems) const;
  void check_chunks(unsigned jobs, const std::function<void(std::uint64_t)>& progress,
                    const std::vector<ComponentNumber>& order,
                    std::vector<Problem>& problems) const;
  Digest stored_digest(const StoredComponent& component, std::uint64_t chunk) const;
  Digest read_digest(const ChunkPlace& place, std::span<std::byte> buffer) const;

  InputFile file_;
  Mapping mapping_;
  std::map<std::string, std::string> metadata_;
  ArtifactIndex index_;
  std::uint64_t data_start_ = 0;
  std::uint64_t index_bytes_ = 0;
  std::uint64_t sums_bytes_ = 0;
  Digest index_digest_{};
  std::uint64_t plain_digests_ = 0;  ///< chunks of components that are not compressed
  /// By compressed chunk, in the sequence of their digests: where its frame ends in its component,
  /// as the unverified sums say; not more than 2^63.
  std::vector<std::uint64_t> frame_ends_;
};

}  // namespace synps
