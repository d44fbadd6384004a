#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/plan.h"

namespace synps {

/// A change of a weight's bytes that packing makes. Copying is none.
struct PlannedConversion {
  std::string_view kind{};  ///< "inflate", "fold_scale", "encode", "relayout", "compress"
  std::string from{};       ///< as in ConversionEvent
  std::string to{};
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;  ///< by "compress", the most that they can be before packing
  bool of_source = false;  ///< by "relayout": what is read comes into the order of rows, before it
                           ///< is encoded

  bool operator==(const PlannedConversion&) const = default;
};

/// What packing does to the bytes of a weight, in sequence. `written` is what is stored of it: the
/// plan's, or with sizes that are known by now.
std::vector<PlannedConversion> planned_conversions(const Checkpoint& checkpoint,
                                                   const PlannedWeight& planned,
                                                   const StoredWeight& written);

/// Whether a component is compressed.
bool is_compressed(const StoredWeight& stored) noexcept;

}  // namespace synps
