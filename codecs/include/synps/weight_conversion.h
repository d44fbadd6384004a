#pragma once

#include <optional>
#include <span>

#include "synps/codec.h"
#include "synps/executor.h"
#include "synps/form.h"
#include "synps/trace.h"
#include "synps/weight_storage.h"

namespace synps {

/// What a weight is to be stored as. What is not asked for stays as it is; an order that a new
/// codec does not have for the weight becomes rows1.
struct StorageTarget {
  const Codec* codec = nullptr;  ///< outlives the result; null: the present one
  std::optional<Order> order{};
  std::optional<Orientation> orientation{};
  std::optional<CompressRequest> compress{};
};

struct ConversionOptions {
  bool allow_overflow = false;    ///< finite values may become infinite
  Executor* executor = nullptr;   ///< null: the calling thread does it all
  TraceSink* trace = nullptr;     ///< hears of the conversion; null: nobody does
  ValueReport* values = nullptr;  ///< receives what the encoder met; null: nobody
};

// A weight in another form. Both functions return the same storage where it is what is wanted
// already (also for a weight without elements, which no codec changes), and else a new one, whose
// bytes it owns on the heap. Logical dtype, shape and device stay. The result depends neither on
// the executor nor on where the source is.
//
// Everything that types and shapes tell is refused before a byte of the source is read:
// Error(usage) for a source that is not on this host, that nothing decodes, or whose companion
// scale is needed and not at hand; Error(policy) for a codec that is only read or cannot store the
// shape, and for an order that the weight cannot have. Then Error(checkpoint) for values that the
// codec cannot store, naming the first; Error(limit) without memory; Error(artifact),
// Error(package).
//
// Besides source and result each thread takes a few MiB, or if that is more a row that a codec must
// see whole, or eight rows of a compressed source.

/// Never changes a value. Throws Error(policy), naming requantize, for a codec that does not hold
/// every value of the present one's, and for another encoding of a weight whose companion scale is
/// not multiplied in.
SharedStorage repack(const SharedStorage& source, const StorageTarget& target,
                     const ConversionOptions& options = {});

/// Encodes in whatever codec encodes, and may round. What another codec has rounded before is in
/// the result's history.
SharedStorage requantize(const SharedStorage& source, const StorageTarget& target,
                         const ConversionOptions& options = {});

/// The storage of a weight's values, which are read in flat order: of `target.codec`, which is not
/// null, as requantize() makes it of an f32 storage.
SharedStorage encode_values(const Weight& weight, std::span<const float> values,
                            const StorageTarget& target, const ConversionOptions& options = {});

}  // namespace synps
