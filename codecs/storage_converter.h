#pragma once

#include "storage_state.h"
#include "synps/weight_conversion.h"

namespace synps {

/// Gives `to`, which has all but its bytes, those of `from`: encoded anew where their codecs
/// differ, else as they are, in the order and compression of `to`. Throws Error(checkpoint) for
/// values that the codec cannot store, Error(limit), Error(artifact), Error(package).
void convert_bytes(const StorageState& from, StorageState& to, const ConversionOptions& options);

}  // namespace synps
