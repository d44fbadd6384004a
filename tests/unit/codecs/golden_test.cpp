#include <doctest/doctest.h>

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "golden_folder.h"
#include "simd_targets.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"
#include "temp_dir.h"

// Compares every codec with its golden folder; tests/golden/README.md says where the files are
// from.

namespace synps::testing {
namespace {

const std::string kGolden = std::string(SYNPS_SOURCE_DIR) + "/tests/golden/";

struct Case {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

std::vector<Case> read_manifest(const std::string& folder) {
  std::vector<Case> cases;
  std::istringstream lines(read_file(folder + "/manifest.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Case golden;
    fields >> golden.name >> golden.rows >> golden.columns;
    REQUIRE_FALSE(fields.fail());
    cases.push_back(golden);
  }
  return cases;
}

Bytes read_bytes(const std::string& path) {
  const std::string text = read_file(path);
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<float> read_floats(const std::string& path) {
  const Bytes bytes = read_bytes(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// Dense codecs define the bits of a NaN; elsewhere a NaN comes from arithmetic (0 × infinity),
/// whose sign and payload differ between machines.
bool same_decoded(const Codec& codec, float a, float b) {
  if (!codec.info().dense) return same_value(a, b);
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

void check_case(const Codec& codec, const std::string& folder, const Case& golden) {
  const Weight weight = make_weight({golden.rows, golden.columns});
  REQUIRE(codec.supports(weight).ok);
  const std::vector<Component> stored = codec.components(weight);
  const std::string prefix = folder + "/" + golden.name + ".";
  std::vector<Bytes> expected;
  for (const Component& component : stored) {
    expected.push_back(read_bytes(prefix + component.name + ".bin"));
    REQUIRE(expected.back().size() == component.bytes);
  }
  if (codec.info().encodes) {
    const std::vector<float> values = read_floats(kGolden + "inputs/" + golden.name + ".f32");
    REQUIRE(values.size() == weight.shape.elements());
    const Encoded encoded = encode_all(codec, weight, values);
    for (std::size_t c = 0; c < stored.size(); ++c)
      for (std::size_t i = 0; i < expected[c].size(); ++i)
        if (encoded.components[c][i] != expected[c][i])
          FAIL_CHECK(stored[c].name << ": byte " << i << " differs");
  }
  const std::vector<float> decoded = decode_all(codec, weight, expected);
  const std::vector<float> wanted = read_floats(prefix + "decoded.f32");
  REQUIRE(wanted.size() == decoded.size());
  for (std::size_t i = 0; i < decoded.size(); ++i)
    if (!same_decoded(codec, decoded[i], wanted[i]))
      FAIL_CHECK("value " << i << ": " << decoded[i] << ", want " << wanted[i]);
}

}  // namespace

TEST_CASE("every codec gives its golden bytes and values") {
  for (const Codec* codec : builtin_registry().all()) {
    const std::string folder = kGolden + folder_name(codec->info());
    const std::vector<Case> cases = read_manifest(folder);
    CHECK_FALSE(cases.empty());
    for (const Case& golden : cases) {
      CAPTURE(codec->info().id());
      CAPTURE(golden.name);
      for_each_simd_target([&] { check_case(*codec, folder, golden); });
    }
  }
}

}  // namespace synps::testing
