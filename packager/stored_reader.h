#pragma once

#include <string>
#include <vector>

#include "buffer.h"
#include "synps/artifact_reader.h"
#include "synps/codec_registry.h"
#include "synps/component_rows.h"

namespace synps {

/// The codec that decodes a stored weight, or null when its bytes are kept as the source had them
/// and nothing decodes those. Throws Error(package) when the codec is not known here, or in another
/// revision.
const Codec* require_stored_codec(const CodecRegistry& codecs, const StoredWeight& weight,
                                  const std::string& file);

/// Whether the bytes of a weight's one component are the source's own: its values, densely, in its
/// dtype and in the order of rows.
bool stored_as_source(const StoredWeight& weight) noexcept;

/// Throws Error(artifact) when the components are not what the codec stores for the weight.
void require_components(const ArtifactReader& artifact, const StoredWeight& weight,
                        const Codec& codec);

/// Bytes that a ComponentRows keeps for a component.
std::uint64_t rows_buffer(const StoredComponent& component) noexcept;

/// Bytes of the buffers that a StoredReader keeps for a weight, by component, and of what inflates
/// it; each is raised to what this weight takes.
void raise_stored_buffers(const StoredWeight& weight, const Codec& codec,
                          std::vector<std::uint64_t>& buffers);

/// Reads pieces of a weight as f32 values, in whatever order it is stored, inflating what is
/// compressed. Bytes are read, not
/// mapped, so that memory stays bounded and a file that is cut meanwhile is an error. For one
/// thread.
class StoredReader {
 public:
  /// Goes to a weight of an artifact's file, which outlives the reader, whose components
  /// require_components() has accepted. Buffers are kept.
  void start(const ArtifactReader& artifact, const StoredWeight& weight, const Codec& codec);

  /// Fills `out` with the values of a piece, which is cut as the codec wants it. Throws Error(io);
  /// Error(artifact) for a frame that is not sound.
  void read(const Piece& piece, std::span<float> out);

 private:
  const StoredWeight* weight_ = nullptr;
  const Codec* codec_ = nullptr;
  std::vector<ComponentRows> readers_;      ///< one a component
  std::vector<RowBlocks> shapes_;           ///< one a component that has rows
  std::vector<Buffer<std::byte>> buffers_;  ///< one a component
  std::vector<std::span<const std::byte>> in_;
};

}  // namespace synps
