#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/codec.h"

namespace synps {

// What codecs share when they say which weights they take and what they store for them.

/// The one component of a dense codec: `values`, of the weight's own shape. Throws Error(limit).
Component dense_component(const Weight& weight, DType dtype);

/// A component with `row_elements` elements of `dtype` for every row of the weight; its shape is
/// the weight's with the last extent replaced. A weight without elements stores nothing: shape
/// [0]. No `row_elements` (it does not fit 64 bits), or a size that does not: throws Error(limit).
Component row_component(const Weight& weight, std::string name, DType dtype,
                        std::optional<std::uint64_t> row_elements);

/// Yes for rank 1 and up with a row length that is a multiple of `block_elements`, and for weights
/// without elements. `codec` is the name a policy uses.
Support supports_blocks(const Weight& weight, std::uint64_t block_elements,
                        const std::string& codec);

/// Yes for rank 1 and up with rows of any length, and for weights without elements.
Support supports_rows(const Weight& weight, const std::string& codec);

/// The longest row, in elements, of a codec that must see a row whole to encode it. Encoding one
/// takes about 16 bytes an element.
inline constexpr std::uint64_t kLongestWholeRow = std::uint64_t{1} << 24;

/// The same for such a codec.
Support supports_whole_rows(const Weight& weight, const std::string& codec);

/// What a codec says that only reads, when it is to encode: Error(usage).
[[noreturn]] void throw_read_only(const CodecInfo& info, std::string hint);

/// The floating-point dtypes whose every value f32 holds.
std::vector<DType> dtypes_exact_in_f32();

}  // namespace synps
