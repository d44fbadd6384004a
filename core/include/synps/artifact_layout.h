#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"
#include "synps/frame.h"

namespace synps {

/// What an artifact is to hold. The weights' components have no place yet: entry, offset, sizes,
/// chunks and digests are the layout's to fill.
struct ArtifactContents {
  std::vector<StoredWeight> weights{};  ///< any order; components with name, dtype, shape,
                                        ///< bytes and per_weight filled
  std::map<std::string, std::string> metadata{};  ///< the source's, verbatim
  std::vector<ValueScheme> values{};              ///< any order
  /// Of a shard: whether another one has weights that a loader of plain safetensors would miss.
  bool packed_elsewhere = false;
};

/// Whether a loader of plain safetensors would miss some of the weights, or take bytes for values:
/// then `format` of the metadata says so.
bool needs_synps(const std::vector<StoredWeight>& weights);

/// Where every byte of an artifact goes, known before a value is read. Compressed components come
/// last; for them it says the most that they can take, until ArtifactWriter::finish() knows better.
struct ArtifactLayout {
  ArtifactIndex index{};                          ///< weights by path, components placed
  std::map<std::string, std::string> metadata{};  ///< as it will be written; synps.index is zeros
  std::uint64_t header_bytes =
      0;                          ///< length field and padded header: where the data section starts
  std::uint64_t index_bytes = 0;  ///< of the padded index entry
  std::uint64_t sums_bytes = 0;   ///< of the padded sums entry
  std::uint64_t chunk_count = 0;  ///< digests in the sums
  std::uint64_t file_bytes = 0;   ///< of the whole file
  bool has_bounds = false;        ///< file_bytes and compressed components are upper bounds
};

/// Bytes of packed rows, which only the codec knows; the layout needs them for chunks.
class RowBytes {
 public:
  virtual ~RowBytes() = default;
  /// Bytes of a component for one row piece of `columns` elements, as Codec::row_bytes says.
  virtual std::uint64_t of(const StoredWeight& weight, std::size_t component,
                           std::uint64_t columns) const = 0;
};

/// Elements that count as a row of a vector in this codec: kVectorRow; of a codec from a package,
/// which need not know the size of any row but the weight's own, as many whole granules as
/// kVectorRow holds, at least one, or the whole vector where that is shorter or cannot be cut.
/// `elements` is not 0.
std::uint64_t vector_row(const Codec& codec, std::uint64_t elements);

/// Asks the weight's codec, which must be in the registry.
class CodecRowBytes final : public RowBytes {
 public:
  explicit CodecRowBytes(const CodecRegistry& codecs) : codecs_(codecs) {}
  std::uint64_t of(const StoredWeight& weight, std::size_t component,
                   std::uint64_t columns) const override;

 private:
  const CodecRegistry& codecs_;
};

/// Gives a weight's components their stored bytes and chunks; compressed ones the most that their
/// frames can take. Throws Error(limit).
void set_sizes(StoredWeight& weight, const RowBytes& row_bytes);

/// True bytes of a chunk of a compressed component, and how its planes are split.
FrameContent frame_content(const StoredWeight& weight, const StoredComponent& stored,
                           std::uint64_t chunk) noexcept;

/// Throws Error(checkpoint) for entry names that collide and metadata keys that start with
/// `synps.`, Error(limit) when the header would be longer than safetensors allows (100,000,000
/// bytes) or a size does not fit 62 bits.
ArtifactLayout lay_out(ArtifactContents contents, const RowBytes& row_bytes);

/// Gives components their places, and header and file their sizes, after stored sizes of compressed
/// components have changed.
void settle_sizes(ArtifactLayout& layout);

/// The header's bytes, length field included, padded to layout.header_bytes. `index_digest` goes
/// into `synps.index`; an all-zero digest gives the form that the header's own digest is taken of.
std::string render_header(const ArtifactLayout& layout, const Digest& index_digest);

/// The unit of rows and of padding.
inline constexpr std::uint64_t kPageAlignment = 4096;  ///< header, index, sums, volatile components
inline constexpr std::uint64_t kPackedAlignment = 64;  ///< packed components
inline constexpr std::uint64_t kChunkTarget = 1u << 20;  ///< bytes a chunk has at most, if it can
inline constexpr std::uint64_t kRowGroup = 8;            ///< rows that a chunk never cuts
inline constexpr std::uint64_t kVectorRow = 65536;  ///< elements that count as a row in vectors
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

}  // namespace synps
