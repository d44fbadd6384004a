#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/error_figures.h"
#include "synps/pack.h"

namespace synps {

/// The error of a stored weight against its source. f64 values of a source are compared as they
/// are, all others as f32.
struct WeightError : ErrorFigures {
  std::string path;
  std::string codec{};      ///< of the stored bytes: `package:export`, or "keep"
  std::string source{};     ///< encoding of the source
  std::uint64_t bytes = 0;  ///< stored, without padding
  bool lossless = true;     ///< what the artifact claims
  bool compared = true;     ///< false: nothing decodes it, and the bytes were compared instead
  bool exact = true;        ///< every value (or byte) is equal, bit for bit

  /// Whether the figures say something: of bytes that differ they do not.
  bool has_figures() const noexcept { return compared || exact; }
};

struct VerifyReport {
  std::vector<Problem> problems;     ///< none: ok
  std::vector<WeightError> weights;  ///< by path, when a checkpoint was given
  std::uint64_t bytes = 0;           ///< of the file, or of all files; 0: it does not open
  bool has_checksums = true;         ///< false: GGUF, whose structure alone can be checked
  bool ok() const noexcept { return problems.empty(); }
};

struct VerifyOptions {
  const Checkpoint* against = nullptr;
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;  ///< as for pack
  ProgressCallback progress;
};

/// Checks every byte of an artifact (a path as of ArtifactSet), or a GGUF file, and with a
/// checkpoint the values of every weight: that the lossless ones are equal, and how far the lossy
/// ones are off. Damage is reported, not thrown. A GGUF file has no checksums: without a checkpoint
/// only its structure is checked; with one also that key-values and the order of tensors are the
/// checkpoint's, but for what packing changes. Throws Error(io); Error(package) when values are to
/// be compared and a codec is not known here, or misbehaves; Error(usage) for a GGUF file against a
/// checkpoint that is none.
VerifyReport verify(const std::string& artifact, const CodecRegistry& codecs,
                    const VerifyOptions& options = {}, Os& os = Os::posix());

}  // namespace synps
