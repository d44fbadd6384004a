#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/artifact_index.h"

namespace synps {

/// What weights of an index refer to by number.
struct IndexTables {
  struct Form {
    FormRequest asked;
    WeightForm form;
  };
  std::vector<CodecRef> codecs;
  std::vector<SharedList<Decision>> decisions;
  std::vector<Form> forms;
  std::vector<Scheme> schemes;
};

/// Why a row of an index, read without fault, is none that to_json writes.
struct IndexFault {
  std::string field;
  std::string want;
  std::string found{};
};
std::optional<IndexFault> fault_of(const StoredComponent& stored);
std::optional<IndexFault> fault_of(const StoredWeight& weight);

/// The number in exactly 16 lower-case hex digits, else nothing.
std::optional<std::uint64_t> hex_from(std::string_view text) noexcept;

/// Reads the rows of an index's weights, `{…},{…}`, letter by letter as to_json writes them: an
/// order of magnitude faster than JSON of any shape. Nothing for everything else, also for
/// what is sound but rare (escapes in strings, more than eight dimensions) and for every fault:
/// then whoever reads any JSON has the word.
struct ScannedWeights {
  std::vector<StoredWeight> weights;
  bool compressed = false;  ///< a component is
};
std::optional<ScannedWeights> scan_weights(std::string_view text, const IndexTables& tables);

}  // namespace synps
