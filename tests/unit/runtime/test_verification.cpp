// When checksums are compared, and what damage does.

#include <doctest/doctest.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/artifact_reader.h"
#include "synps/error.h"
#include "synps/os.h"
#include "temp_dir.h"
#include "test_values.h"

namespace synps::testing {
namespace {

constexpr std::uint64_t kRows = 40;
constexpr std::uint64_t kColumns = 32 * 1024;  // of f32: 128 KiB, so that a chunk holds eight rows

void build_matrix(const std::string& path, ResidencyRequest residency) {
  WeightToStore weight;
  weight.path = "w";
  weight.shape = Shape{kRows, kColumns};
  weight.values = test_values(kRows * kColumns);
  weight.codec = "f32";
  weight.residency = residency;
  build_artifact(path, {weight});
}

/// Offset in the file of a byte of weight `w`.
std::uint64_t place(const std::string& path, std::uint64_t row, std::uint64_t column) {
  const ArtifactReader reader(path);
  return reader.file_offset(reader.find("w")->components[0]) + (row * kColumns + column) * 4;
}

void flip_bit(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  REQUIRE(file.flush());
}

std::vector<float> decode_row(const WeightView& weight, std::uint64_t row) {
  std::vector<float> values(kColumns);
  weight.decode({row, 1}, values);
  return values;
}

void check_damage_found(const WeightView& weight, std::uint64_t row) {
  try {
    decode_row(weight, row);
    FAIL("damage in row " << row << " was not found");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::artifact);
    CHECK(error.problems()[0].field.find("w") != std::string::npos);
    CHECK(error.problems()[0].offset.has_value());
  }
}

OpenOptions verifying(Verification verification) {
  OpenOptions options;
  options.verification = verification;
  return options;
}

/// The real system, whose reads begin to fail.
class FailingReads : public Os {
 public:
  std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) override {
    if (offset >= fail_from) return -EIO;
    return Os::pread(descriptor, data, size, offset);
  }
  std::uint64_t fail_from = ~0ull;
};

}  // namespace

TEST_CASE("first use checks just the chunks that rows need, each time until they are sound") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  build_matrix(path, ResidencyRequest::automatic);
  REQUIRE(ArtifactReader(path).find("w")->components[0].chunks() == 5);
  flip_bit(path, place(path, 17, 5));

  const WeightView weight = Artifact::open(path)["w"];
  const std::vector<float> values = test_values(kRows * kColumns);
  for (const std::uint64_t row : {0u, 15u, 24u, 39u})
    CHECK(decode_row(weight, row) ==
          std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(row * kColumns),
                             values.begin() + static_cast<std::ptrdiff_t>((row + 1) * kColumns)));
  for (const std::uint64_t row : {16u, 17u, 23u}) check_damage_found(weight, row);
  check_damage_found(weight, 17);
  CHECK_THROWS_AS(weight.decode(), const Error&);
  CHECK_THROWS_AS(weight.component(0), const Error&);
}

TEST_CASE("a chunk found sound is not looked at again") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  build_matrix(path, ResidencyRequest::automatic);
  const std::uint64_t damaged = place(path, 3, 0);
  const WeightView weight = Artifact::open(path)["w"];
  const std::vector<float> before = decode_row(weight, 3);
  flip_bit(path, damaged);
  const std::vector<float> after = decode_row(weight, 3);
  CHECK(after[0] != before[0]);
}

TEST_CASE("never: damage goes unnoticed; all: the artifact does not open") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  build_matrix(path, ResidencyRequest::automatic);
  flip_bit(path, place(path, 17, 0));

  const WeightView weight = Artifact::open(path, verifying(Verification::never))["w"];
  CHECK(decode_row(weight, 17)[0] != test_values(kRows * kColumns)[17 * kColumns]);
  CHECK(weight.component(0).size() == kRows * kColumns * 4);

  try {
    Artifact::open(path, verifying(Verification::all));
    FAIL("damage was not found");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::artifact);
  }
}

TEST_CASE("a sound artifact opens and decodes under every choice") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  for (const auto residency : {ResidencyRequest::automatic, ResidencyRequest::heap}) {
    const std::string file =
        dir.file(residency == ResidencyRequest::heap ? "heap.synps" : "mapped.synps");
    build_matrix(file, residency);
    for (const auto choice : {Verification::never, Verification::first_use, Verification::all})
      CHECK(Artifact::open(file, verifying(choice))["w"].decode() == test_values(kRows * kColumns));
  }
}

TEST_CASE("a heap weight's damage is found when it is read, at opening") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  build_matrix(path, ResidencyRequest::heap);
  flip_bit(path, place(path, 39, kColumns - 1));
  CHECK_THROWS_AS(Artifact::open(path), const Error&);
  const WeightView weight = Artifact::open(path, verifying(Verification::never))["w"];
  CHECK(decode_row(weight, 39).back() != test_values(kRows * kColumns).back());
}

TEST_CASE("a heap weight that cannot be read is an I/O error") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  build_matrix(path, ResidencyRequest::heap);
  FailingReads os;
  os.fail_from = place(path, 0, 0);
  OpenOptions options;
  options.os = &os;
  try {
    Artifact::open(path, options);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
  }
}

}  // namespace synps::testing
