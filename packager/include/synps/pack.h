#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "synps/codec.h"
#include "synps/plan.h"
#include "synps/trace.h"

namespace synps {

/// Called with bytes of source read so far and in all, often, from any worker thread but from one
/// at a time. Returning false stops the work with Cancelled.
using ProgressCallback = std::function<bool(std::uint64_t done, std::uint64_t total)>;

/// Thrown when a progress callback asks to stop. Nothing is left behind.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

struct PackOptions {
  bool replace = false;         ///< an existing output may be replaced
  bool allow_overflow = false;  ///< finite values may become infinite
  unsigned jobs = 0;            ///< worker threads; 0: one a core. Never changes the bytes
  /// Bytes of memory that may be taken, as MemoryNeed counts; fewer workers are taken, to fit. 0:
  /// any.
  std::uint64_t max_memory = 0;
  ProgressCallback progress;
  std::vector<FileIdentity> protected_files;  ///< more inputs that must not be overwritten
  /// Hears of every conversion of a weight, when its file has all of them: the events are those of
  /// planned_conversions().
  TraceSink* trace = nullptr;
};

/// What pack met in the values of a weight.
struct PackedWeightReport {
  std::string path;
  ValueReport values;
};

/// A file that was written.
struct PackedFile {
  std::string name;  ///< without a folder
  std::uint64_t bytes = 0;
};

struct PackReport {
  std::uint64_t artifact_bytes = 0;          ///< of all files
  std::vector<PackedWeightReport> findings;  ///< weights with overflow or underflow, by path
  /// The plan's with the true sizes, where something was compressed.
  std::optional<ArtifactLayout> layout{};
  std::vector<PackedFile> files{};     ///< shards or parts, last a shard index; empty: one file
  std::vector<std::string> earlier{};  ///< what check_output() found
};

/// The files that pack() writes: the output; or shards in its folder and last their index; or parts
/// of a GGUF file, and last the first one.
std::vector<std::string> output_files(const Plan& plan, const std::string& output);

/// The checks that pack() makes of all its files before it writes, writing nothing. Returns paths
/// of other files in the folder that a reader could take for parts of this artifact: one of the
/// same name, its shard index, shards of another count. Throws Error(output) for them, too, unless
/// options.replace, which leaves them there.
std::vector<std::string> check_output(const Checkpoint& checkpoint, const Plan& plan,
                                      const std::string& output, const PackOptions& options,
                                      Os& os = Os::posix());

/// Writes the planned artifact: one file, or shards in the folder of `output` and their index, all
/// of which appear together or not at all. Throws Error(checkpoint) for values that a codec cannot
/// store (all weights that have any are named), or when an input changes meanwhile; of an artifact
/// Error(artifact) for that, and for damaged bytes, none of which is read for its values;
/// Error(io); Error(output); Error(limit), before anything is written, when not even one worker
/// fits max_memory. Memory is what pack_memory() says.
PackReport pack(const Checkpoint& checkpoint, const Plan& plan, const std::string& output,
                const PackOptions& options = {}, Os& os = Os::posix());

}  // namespace synps
