#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "synps/dtype.h"
#include "synps/shape.h"
#include "synps/weight.h"

namespace synps {

/// One array that a codec stores for a weight.
struct Component {
  std::string name{};  ///< part of the format: "values" (dense), "blocks", "codes", "scales", …
  DType dtype = DType::u8;  ///< element type of the stored array
  Shape shape{};            ///< shape of the stored array, in elements of `dtype`
  std::uint64_t bytes = 0;  ///< true size: shape.bytes(dtype)
  /// The array holds one value set a weight (a per-tensor scale) rather than one a row.
  bool per_weight = false;

  bool operator==(const Component&) const = default;
};

/// What a codec is, as facts that do not depend on a weight.
struct CodecInfo {
  std::string package{};
  std::string name{};     ///< the export
  unsigned revision = 1;  ///< raised when the meaning of stored bytes changes
  bool dense = false;     ///< stores the weight itself, one element a value, under its own name
  bool encodes = true;    ///< false: a source or retired encoding that is only decoded
  double bits_per_weight = 0;  ///< nominal, for rows that need no padding
  std::string summary{};       ///< one line for people
  std::string error_bound{};   ///< one line for people; "exact" for what is in `exact`
  std::vector<DType> exact{};  ///< logical dtypes whose every value decode(encode(x)) returns
                               ///< (a NaN may be quieted)
  std::optional<DType> dense_dtype{};  ///< dense codecs: the dtype of the stored entry
  std::string file{};  ///< the package's shared object, as it was named; empty: built in

  std::string id() const { return package + ":" + name; }
  bool stores_exactly(DType dtype) const noexcept;
};

/// Yes, or no with the reason in words a user can act on.
struct Support {
  bool ok = true;
  std::string reason{};

  static Support yes() { return {}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
};

/// What an encoder met that a caller may have to refuse or report. Indices are flat element
/// indices in the weight. Counts add up over pieces in any order; the first index is the smallest.
struct ValueReport {
  struct Finding {
    std::uint64_t count = 0;
    std::uint64_t first_index = 0;
    double first_value = 0;

    void add(std::uint64_t index, double value) noexcept;
    void merge(const Finding& other) noexcept;
  };
  Finding overflow{};    ///< finite values (or blocks, by their largest value) that became infinite
  Finding non_finite{};  ///< NaN or infinities met by a codec that cannot store them
  Finding underflow{};   ///< non-zero values that decode to zero because a scale or the format
                         ///< cannot hold anything so small

  void merge(const ValueReport& other) noexcept;
};

/// The pass of a codec that must see the whole weight before it encodes a row.
class Analysis {
 public:
  virtual ~Analysis() = default;
  /// Takes the next values of the weight. The caller passes every element once, in flat order;
  /// how the sequence is cut into calls does not change the result.
  virtual void add(std::span<const float> values) = 0;
  /// Bytes of a per-weight component, after the last add(). `out` has that component's true size.
  virtual void store(std::size_t component, std::span<std::byte> out) const = 0;
};

/// A piece of a weight: `rows` pieces of rows, each of `columns` elements, adjacent in flat order.
/// Either whole rows (columns == weight.shape.columns()), or a part of one row (rows == 1) cut at
/// multiples of the codec's row_granule().
struct Piece {
  const Weight* weight = nullptr;
  std::uint64_t first_element = 0;  ///< flat index of the piece's first element in the weight
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;

  std::uint64_t elements() const noexcept { return rows * columns; }
};

/// A codec's encode() for one thread, with memory that it keeps from piece to piece.
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// As Codec::encode().
  virtual void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
                      std::span<const std::span<std::byte>> out, ValueReport& report) = 0;
};

/// Owns one storage representation. Nothing outside a codec knows its block size, zero point or
/// rounding. Stateless and thread-safe; every call depends on its arguments alone, so that any
/// cut of a weight into pieces gives the same bytes.
class Codec {
 public:
  virtual ~Codec() = default;

  virtual const CodecInfo& info() const noexcept = 0;

  /// Whether this codec can store a weight of this shape (decode only codecs: whether it can be
  /// read). A weight without elements is always supported.
  virtual Support supports(const Weight& weight) const = 0;

  /// What is stored for `weight`, which supports() must have accepted. Throws Error(limit) when a
  /// size does not fit 64 bits.
  virtual std::vector<Component> components(const Weight& weight) const = 0;

  /// Bytes of component `component` for one row piece of `columns` elements; 0 for a per-weight
  /// component. `columns` is the weight's row length or, for a cut row, a multiple of
  /// row_granule() or the row's rest.
  virtual std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const = 0;

  /// Elements at whose multiples a row may be cut into independent pieces; 0: a row is one piece.
  virtual std::uint64_t row_granule() const noexcept = 0;

  /// The analysis pass, or null when the codec needs none.
  virtual std::unique_ptr<Analysis> begin_analysis(const Weight& weight) const;

  /// Encodes piece.elements() values in row-major order. `out[i]` has rows × row_bytes(i, columns)
  /// bytes (none for per-weight components, which Analysis::store gives). `report` receives flat
  /// indices; bytes are written for whatever values come.
  virtual void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
                      std::span<const std::span<std::byte>> out, ValueReport& report) const = 0;

  /// Whether the stored bytes are values as this machine holds them, so that decode() only copies:
  /// f32 on little-endian machines.
  virtual bool stores_native_f32() const noexcept;

  /// An encoder that gives the same bytes, of a codec that needs memory to work in; null for
  /// others.
  virtual std::unique_ptr<Encoder> make_encoder() const;

  /// Bytes that such an encoder keeps, once it has had pieces of `columns` columns.
  virtual std::uint64_t encoder_bytes(std::uint64_t columns) const noexcept;

  /// Decodes a piece: `in[i]` has rows × row_bytes(i, columns) bytes, or, for a per-weight
  /// component, all of it. `out` has piece.elements() values. Any input bytes are decoded without
  /// undefined behaviour. Stored bytes need no alignment.
  virtual void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
                      std::span<float> out) const = 0;
};

}  // namespace synps
