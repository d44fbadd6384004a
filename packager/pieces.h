#pragma once

#include <cstddef>
#include <cstdint>

#include "synps/artifact_index.h"
#include "synps/artifact_layout.h"
#include "synps/codec.h"

namespace synps {

/// Elements that a piece has at most, where the codec can cut there: 512 KiB of f32 values, which
/// stay in a core's own cache between decode and encode.
inline constexpr std::uint64_t kPieceElements = 1u << 17;

/// Bytes that are copied or compared at a time.
inline constexpr std::uint64_t kCopyBytes = 1u << 19;

/// Bytes that are written at a time, where a unit has so many: of each component.
inline constexpr std::uint64_t kWriteBytes = 1u << 20;

/// The next piece of `weight` in [from, end): as many whole rows as kPieceElements holds, at least
/// one; or a part of a row where rows are longer and the codec can cut them. `granule` is the
/// codec's row_granule(). `from` is where the piece before ended.
Piece next_piece(const Weight& weight, std::uint64_t from, std::uint64_t end,
                 std::uint64_t granule);

/// Elements of the largest piece of a unit of `unit` elements: its first.
std::uint64_t largest_piece(const Weight& weight, std::uint64_t unit, std::uint64_t granule);

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

/// Where a piece's bytes are in a component that has bytes for every row. Throws Error(package)
/// when the codec's sizes lead out of the component.
ByteRange piece_bytes(const Codec& codec, const StoredWeight& weight, std::size_t component,
                      const Piece& piece);

/// Bytes of a piece that follows another, of which at most `left` can be. Throws Error(package)
/// when the codec says more.
std::uint64_t piece_size(const Codec& codec, const StoredWeight& weight, std::size_t component,
                         const Piece& piece, std::uint64_t left);

/// Elements in [0, elements) that are encoded as one unit of work: a chunk of the first component,
/// or the whole weight where its one row cannot be cut at chunks. `vector_row` are the elements
/// that count as a row in a vector.
std::uint64_t unit_elements(const StoredWeight& weight, std::uint64_t granule,
                            std::uint64_t vector_row = kVectorRow);
std::uint64_t unit_elements(const StoredWeight& weight, const Codec& codec);

/// Units that a weight has of unit_elements() each.
std::uint64_t units_of_elements(const StoredWeight& weight, const Codec& codec);

/// Where the bytes of element `at` start in a component, for the first element of a unit and for
/// the end of the weight. What the plan says: no codec is asked.
std::uint64_t unit_byte(const StoredWeight& weight, const Codec& codec, std::size_t component,
                        std::uint64_t at);

/// Error(package): the codec's row_bytes is not what the plan or the artifact was made with.
[[noreturn]] void throw_size_fault(const Codec& codec, const StoredWeight& weight,
                                   std::size_t component);

}  // namespace synps
