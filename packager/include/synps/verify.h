#pragma once

#include <optional>
#include <string>
#include <vector>

#include "synps/artifact_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/pack.h"

namespace synps {

/// The error of a stored weight against its source.
struct WeightError {
  std::string path;
  bool lossless = true;  ///< what the artifact claims
  bool compared = true;  ///< false: nothing decodes it, and the bytes were compared instead
  bool exact = true;     ///< every value (or byte) is equal, bit for bit
  double max_abs_error = 0;
  double rmse = 0;
  std::optional<double> snr_db;  ///< none when the error or the signal is zero
};

struct VerifyReport {
  std::vector<Problem> problems;     ///< none: ok
  std::vector<WeightError> weights;  ///< by path, when a checkpoint was given
  std::uint64_t bytes = 0;           ///< of the file
  bool ok() const noexcept { return problems.empty(); }
};

struct VerifyOptions {
  const Checkpoint* against = nullptr;
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;  ///< as for pack
  ProgressCallback progress;
};

/// Checks every byte of an artifact, and with a checkpoint the values of every weight: that the
/// lossless ones are equal, and how far the lossy ones are off. Damage is reported, not thrown.
/// Throws Error(io); Error(package) when values are to be compared and a codec is not known here,
/// or misbehaves.
VerifyReport verify(const std::string& artifact, const CodecRegistry& codecs,
                    const VerifyOptions& options = {}, Os& os = Os::posix());

}  // namespace synps
