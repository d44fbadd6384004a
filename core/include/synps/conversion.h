#pragma once

#include <cstdint>
#include <string>

#include "synps/codec.h"
#include "synps/dtype.h"

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

}  // namespace synps
