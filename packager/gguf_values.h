#pragma once

#include "gguf_input.h"
#include "synps/gguf.h"

namespace synps {

/// Bytes of a value of a type that has a fixed size; 0 for strings and arrays.
std::uint64_t gguf_fixed_bytes(GgufValueType type) noexcept;

/// Reads a type, of a key's value or an array's elements.
GgufValueType read_gguf_value_type(GgufInput& input);

/// Whether two values are of one type, and the same bytes. Throws Error(io).
bool same_gguf_value(const InputFile& a, const GgufKeyValue& in_a, const InputFile& b,
                     const GgufKeyValue& in_b);

/// Steps over the value of `key_value`, whose type is set, checks it, and fills in where it lies.
void scan_gguf_value(GgufInput& input, GgufKeyValue& key_value);

}  // namespace synps
