#pragma once

#include <cstdint>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/plan.h"

namespace synps {

/// Completes a plan for a GGUF output, but for what `plan.gguf` has of things that are not carried:
/// key-values, places, sizes. `weights` are those of plan.weights, by path, their components
/// without places; plan.weights know their tensor types. What it lays out is in plan.layout, as for
/// an artifact: a component's offset counts from the end of the header. Throws Error(checkpoint)
/// for what no GGUF file can say, Error(limit) for sizes beyond 2^62.
void lay_out_gguf(const Checkpoint& checkpoint, std::vector<StoredWeight> weights,
                  const CodecRegistry& codecs, Plan& plan);

/// Gives the weights of a plan their places, and header and file their sizes, after its key-values,
/// tensors and weights have been decided. Throws Error(limit).
void place_gguf(const Checkpoint& checkpoint, Plan& plan);

/// Throws Error(checkpoint) for a name or rank that a tensor of a GGUF file cannot have.
void check_gguf_tensor(const Weight& weight, const std::string& file);

/// Bytes of a header before its padding: what write_gguf_header() writes.
std::uint64_t gguf_header_bytes(const Checkpoint& checkpoint, const Plan& plan);

}  // namespace synps
