#pragma once

#include <cstdint>
#include <string>

#include "synps/artifact_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/plan.h"

namespace synps {

/// The most memory that a command has resident, in bytes: known before a value is read, and a
/// function of headers alone. What a codec package keeps for itself is not in it.
struct MemoryNeed {
  std::uint64_t program_bytes = 0;  ///< of the program itself, whatever it works on
  std::uint64_t index_bytes = 0;    ///< grows with the number of weights and of chunks
  std::uint64_t worker_bytes = 0;   ///< buffers of each worker
  /// The weight that takes the largest buffers, where its codec works on whole rows and these are
  /// longer than what a worker else has; empty: none.
  std::string long_rows_in{};

  /// In all; saturates.
  std::uint64_t with_workers(unsigned workers) const noexcept;
};

/// What packing takes. Any number of workers gives the same bytes.
MemoryNeed pack_memory(const Checkpoint& checkpoint, const Plan& plan);

/// As many of `wanted` workers as fit a ceiling of so many bytes; all, where it is 0. Throws
/// Error(limit), naming `file`, when not even one does.
unsigned workers_within(const MemoryNeed& need, unsigned wanted, std::uint64_t ceiling,
                        const std::string& file);

}  // namespace synps
