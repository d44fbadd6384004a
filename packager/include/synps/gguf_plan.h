#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/gguf.h"

namespace synps {

/// The version of the GGUF files that are written.
inline constexpr std::uint32_t kGgufVersion = 3;

/// A key-value that a GGUF output has.
struct PlannedKeyValue {
  std::string key;
  std::optional<std::size_t> source{};         ///< index into Checkpoint::key_values(); none: new
  std::optional<std::uint32_t> value{};        ///< what it says; none: the source's bytes
  GgufValueType type = GgufValueType::uint32;  ///< of `value`: of 2 or 4 bytes
};

/// A key-value that the output has otherwise than the source, or that only one of them has.
struct GgufChange {
  std::string key;
  std::optional<std::size_t> from{};  ///< index into Checkpoint::key_values(); none: added
  std::optional<std::uint32_t> to{};  ///< none: removed
};

/// What policies say about weights and an artifact would hold, but GGUF has no place for. Nothing
/// of it changes a byte.
struct NotCarried {
  std::string key;          ///< a PolicyKey name; "volatile"; "values" for schemes of other values
  std::string value;        ///< "bf16", "heap", …; "" for volatile and values
  std::uint64_t count = 0;  ///< weights, or schemes
  std::string example;      ///< a path; of values a pattern
};

/// What a GGUF output has beside the bytes of its weights.
struct GgufPlan {
  std::uint64_t alignment = 0;
  std::uint32_t source_version = 0;
  std::vector<PlannedKeyValue> key_values{};  ///< in the file's order
  std::vector<std::size_t> tensors{};         ///< indices into Plan::weights, in the file's order
  std::vector<GgufChange> changes{};          ///< in the order of the keys
  std::vector<NotCarried> not_carried{};      ///< by key, then value
};

}  // namespace synps
