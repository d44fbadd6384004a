#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/file.h"
#include "synps/json_writer.h"
#include "synps/shape.h"

namespace synps {

class GgufInput;

/// Types of key-values: the GGUF specification's `gguf_metadata_value_type`. The numbers are the
/// file's.
enum class GgufValueType : std::uint8_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

/// "uint32", "string", "array", …
std::string_view to_string(GgufValueType type) noexcept;

/// A key-value, and where its value lies. The value itself stays in the file.
struct GgufKeyValue {
  std::string key;
  GgufValueType type = GgufValueType::uint8;
  GgufValueType items = GgufValueType::uint8;  ///< of an array
  std::uint64_t count = 0;                     ///< elements of an array; bytes of a string
  /// Bytes from the start of the file: of a string's text, an array's first element, a number.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// One tensor of a GGUF file.
struct GgufTensor {
  std::string name;
  Shape shape;  ///< outermost first: `ne` reversed
  std::uint32_t type = 0;
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t bytes = 0;
};

struct GgufHeader {
  std::uint32_t version = 0;  ///< 2 or 3
  std::uint64_t alignment = 0;
  std::vector<GgufKeyValue> key_values;  ///< in the file's order
  std::vector<GgufTensor> tensors;       ///< in the file's order

  /// Null when there is none of that key.
  const GgufKeyValue* find(std::string_view key) const noexcept;
};

/// Whether a file that starts with these bytes is to be read as GGUF. No safetensors file starts
/// so: its header would be longer than the format allows.
bool is_gguf(std::string_view head) noexcept;

/// Reads and validates everything before the tensor data, once and in sequence, through a small
/// buffer: structure, types, keys, names, shapes, sizes, and that the tensors cover the data
/// section in some sequence with no hole but the alignment's. Values are stepped over, not kept.
/// Throws Error(checkpoint) naming file, key or tensor, and offset.
GgufHeader read_gguf_header(const InputFile& file);

/// How a value is written as JSON.
struct GgufJsonLimits {
  std::uint64_t items = UINT64_MAX;   ///< elements of an array, of all arrays in it together
  std::uint64_t string = UINT64_MAX;  ///< bytes of a string; an ellipsis stands for the rest
};

/// Reads values of a file whose header was read. For one thread; quick for values that lie near
/// each other in the file.
class GgufValueReader {
 public:
  explicit GgufValueReader(const InputFile& file);
  ~GgufValueReader();

  /// Writes a value as JSON: numbers and booleans as such, floats that are not finite as a
  /// string of their bits ("0x7fc00000"), strings as strings, or as
  /// {"hex":"…"} where they are no UTF-8, arrays as arrays, with arrays in them as
  /// {"items":TYPE,"value":[…]}. Throws Error(io).
  void write(JsonWriter& json, const GgufKeyValue& value, const GgufJsonLimits& limits = {});

  /// An integer that is not negative; nothing for anything else.
  std::optional<std::uint64_t> unsigned_integer(const GgufKeyValue& value);

 private:
  std::unique_ptr<GgufInput> input_;
};

}  // namespace synps
