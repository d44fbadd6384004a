#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "synps/dtype.h"

namespace synps {

/// A tensor type of GGUF: what the number in a tensor's description means. A row is a sequence of
/// blocks, so that its length is a multiple of `block_elements`.
struct GgufType {
  std::uint32_t number = 0;
  std::string_view name{};           ///< as GGUF writes it: "F16", "Q4_K"
  std::uint32_t block_elements = 0;  ///< 0 where `removed`
  std::uint32_t block_bytes = 0;     ///< 0 where `removed`
  std::string_view codec{};          ///< `package:export` of the built-in codec; empty: none
  std::optional<DType> dtype{};      ///< of plain elements; nothing for packed blocks
  bool removed = false;              ///< once in use; files with it are no longer read

  /// Bytes of `elements` elements, a whole number of blocks; nothing if they are not, if the type
  /// was removed, or if the size does not fit 64 bits.
  std::optional<std::uint64_t> bytes(std::uint64_t elements) const noexcept;
};

/// Every number that was ever given out, ascending.
std::span<const GgufType> all_gguf_types() noexcept;

/// The type of that number, removed ones included, or null.
const GgufType* find_gguf_type(std::uint32_t number) noexcept;

/// The type whose blocks the codec of this id (`package:export`) stores, or null.
const GgufType* gguf_type_of_codec(std::string_view codec) noexcept;

}  // namespace synps
