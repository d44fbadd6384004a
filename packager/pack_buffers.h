#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synps/plan.h"

namespace synps {

/// Bytes of the buffers that a worker of pack keeps, enough for every weight that it may get.
struct PackBuffers {
  std::uint64_t source = 0;   ///< a piece of the source's bytes, or bytes that are copied
  std::uint64_t stored = 0;   ///< what reading an artifact's weights takes beside them
  std::uint64_t values = 0;   ///< a piece's values
  std::uint64_t scales = 0;   ///< numbers, not bytes: of a scale, for a piece
  std::uint64_t windows = 0;  ///< encoded bytes of all components of a weight
  std::uint64_t stage = 0;    ///< rows1 of what is stored in another order
  std::uint64_t codecs = 0;   ///< what encoders and codec packages keep
  std::string long_rows_in;   ///< the weight of the longest rows that are longer than a piece, but
                              ///< not cut; empty: none

  std::uint64_t total() const noexcept;  ///< saturates
};

PackBuffers pack_buffers(const Plan& plan);

/// Where the windows of a weight's components lie in a worker's memory, and its size at the end.
/// Takes the vector's memory, not its values.
void place_windows(const StoredWeight& stored, const Codec& codec,
                   std::vector<std::uint64_t>& places);

}  // namespace synps
