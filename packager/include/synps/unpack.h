#pragma once

#include <string>
#include <vector>

#include "synps/codec_registry.h"
#include "synps/pack.h"

namespace synps {

struct UnpackOptions {
  bool replace = false;
  unsigned jobs = 0;             ///< worker threads; 0: one a core. Never changes the bytes
  std::uint64_t max_memory = 0;  ///< as for pack
  ProgressCallback progress;
  std::vector<FileIdentity> protected_files{};  ///< more inputs that must not be overwritten
};

struct UnpackReport {
  std::uint64_t bytes = 0;           ///< of the file written
  std::vector<std::string> widened;  ///< weights written as f32 rather than in their source dtype,
                                     ///< which does not hold what their codec decodes to
};

/// Writes an artifact's weights (a path as of ArtifactSet) as one plain safetensors file: the
/// source dtype where the stored encoding holds it losslessly, else f32; nothing is rounded (a NaN
/// that was re-encoded stays one, but the dense codecs may quiet it, and f16 drops its payload).
/// The checkpoint's metadata comes back verbatim. Throws Error(artifact), also for damaged bytes;
/// Error(package) for a codec that is not known; Error(io), Error(output), Cancelled.
UnpackReport unpack(const std::string& artifact, const std::string& output,
                    const CodecRegistry& codecs, const UnpackOptions& options = {},
                    Os& os = Os::posix());

}  // namespace synps
