#pragma once

#include <cstdint>
#include <string_view>

#include "synps/codec.h"
#include "synps/dtype.h"
#include "synps/error.h"

namespace synps {

/// What becomes of values, by types alone, when what one codec stores is encoded by another.
enum class ConversionKind : std::uint8_t {
  same,      ///< the encoding is equal: bytes stay
  lossless,  ///< every value that the first can hold survives: repack does it
  lossy,     ///< values may be rounded: only requantize does it
  refused,   ///< the second cannot encode, or the first cannot be decoded
};

/// The dtype that holds every value a codec decodes to: of a dense codec its own, else f32.
DType value_dtype(const Codec& codec) noexcept;

/// Whether and how what `source` stores can become what `target` stores. `source` null: nothing
/// decodes the bytes.
ConversionKind conversion_kind(const Codec* source, const Codec& target) noexcept;

/// "same", "lossless", "lossy", "refused".
std::string_view to_string(ConversionKind kind) noexcept;

// Refusals that are said alike wherever they are met: what, field and found, and a hint where there
// is but one, of code policy. The caller names the weight.

/// A weight of a shape that `codec` cannot store: `support` says why.
Problem cannot_store(const CodecInfo& codec, const Support& support);
/// A codec that is only read, where one is to be stored.
Problem cannot_encode(const CodecInfo& codec);
/// A conversion that may round, where values are to stay: names requantize, which does it.
Problem would_round(const CodecInfo& source, const CodecInfo& target);

}  // namespace synps
