#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/error_figures.h"
#include "synps/pack.h"

namespace synps {

/// What two sources of weights have under a path.
enum class DiffStatus : std::uint8_t {
  equal,           ///< in value
  value,           ///< the same shape, other values
  shape,           ///< other shapes
  dtype,           ///< of which one at least is no float: integers, booleans, complex numbers
  not_comparable,  ///< stored in different ways, one of which nothing decodes
  only_in_a,
  only_in_b,
  folded,  ///< a scale that one side has, and that the other has folded into its weight
};

std::string_view to_string(DiffStatus status) noexcept;  ///< "equal", "only_in_a", …

/// Bytes that a tensor takes in its file, compressed where it is, without padding.
std::uint64_t bytes_in_file(const SourceTensor& tensor) noexcept;

/// One path of two sources, of which the first is the reference.
struct WeightDiff {
  std::string path;
  DiffStatus status = DiffStatus::equal;
  const SourceTensor* a = nullptr;  ///< null: not in A
  const SourceTensor* b = nullptr;  ///< null: not in B
  /// Whether values were compared, or would have been, had bytes not been equal. Else bytes were.
  bool decoded = false;
  ErrorFigures figures{};  ///< of B's values against A's; see has_figures()
  std::string reason{};    ///< in words: of value where bytes differ, shape, dtype, not_comparable,
                           ///< folded

  bool differs() const noexcept {
    return status != DiffStatus::equal && status != DiffStatus::folded;
  }
  bool has_figures() const noexcept {
    return status == DiffStatus::equal || (status == DiffStatus::value && decoded);
  }
};

/// Refers to the checkpoints that it was made of.
struct DiffReport {
  std::vector<WeightDiff> weights;  ///< by the bytes of the path; no key-values of GGUF
  std::uint64_t paired = 0;         ///< paths that both have

  bool equal() const noexcept;  ///< nothing differs
  std::uint64_t count(DiffStatus status) const noexcept;
};

struct DiffOptions {
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;  ///< as for pack
  ProgressCallback progress;
};

/// Compares the weights of two sources by path, and the values of those that both have: as f32,
/// with companion scales folded in; f64 numbers as they are; integers, booleans, complex numbers,
/// and what nothing decodes, by their bytes. NaN equals NaN, and zeros of either sign are equal.
/// The result depends neither on threads nor on how values are stored. Throws Error(io);
/// Error(checkpoint) for a scale that no weight can be multiplied by, or a file that changes
/// meanwhile; Error(artifact) for damage of an artifact; Error(limit) when not even one worker fits
/// max_memory.
DiffReport diff(const Checkpoint& a, const Checkpoint& b, const CodecRegistry& codecs,
                const DiffOptions& options = {});

}  // namespace synps
