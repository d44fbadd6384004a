#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/hash.h"

namespace synps::testing {

/// What v1/expected.json says about a weight.
struct ExpectedWeight {
  std::string path;
  std::string codec;  ///< `PACKAGE:EXPORT`, or `keep`
  unsigned revision = 0;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::string order;
  bool lossless = false;
  std::vector<std::string> history;
  std::vector<Digest> stored;  ///< of the true bytes of each component
  std::optional<Digest>
      values;  ///< of its f32 values, little-endian; none where nothing decodes it
};

struct ExpectedArtifact {
  std::string name;
  std::string file;                ///< what is opened, with its folder
  std::string package;             ///< the codec package that it needs, or empty
  std::vector<std::string> files;  ///< all of it, without folder
  std::vector<ExpectedWeight> weights;
};

/// The folder of the artifacts.
std::string compat_folder();
/// All of them, by name. Throws std::runtime_error where expected.json is not as make_v1.py writes
/// it.
const std::vector<ExpectedArtifact>& expected_artifacts();

}  // namespace synps::testing
