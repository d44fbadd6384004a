// Weights that are copied, where the file system can share their bytes, and where it cannot after
// all.

#include <doctest/doctest.h>

#include <cerrno>
#include <optional>
#include <string>

#include "faulty_os.h"
#include "pack_run.h"
#include "synps/verify.h"

using namespace synps;
using namespace synps::testing;
using Call = FaultyOs::Call;

namespace {

SafetensorsBuilder tensors() {
  SafetensorsBuilder builder;
  add_floats(builder, "large", DType::bf16, {700, 2048},
             1);  // three chunks of 1 MiB, the last short
  add_floats(builder, "small", DType::bf16, {3, 7}, 2);
  add_floats(builder, "vector", DType::bf16, {600'000}, 3);
  return builder;
}

struct Run : PackRun {
  Run() : PackRun(tensors(), one_format("bf16")) {}
};

/// An Os that shares, in blocks of so many bytes, with a fault.
struct SharingOs : FaultyOs {
  explicit SharingOs(std::uint64_t block, const Fault& fault = {}) : FaultyOs(fault) {
    shared_block = block;
  }
};

}  // namespace

TEST_CASE("shared bytes give the artifact that reading and writing gives") {
  const Run run;
  for (const unsigned jobs : {1u, 4u}) {
    SharingOs os(1);
    CHECK_FALSE(run.run(os, jobs));
    CHECK(read_file(run.fixture.output) == run.complete);
    // Each chunk of each weight in one call, and nothing besides.
    CHECK(os.calls(Call::copy_range) == 6);
  }
}

TEST_CASE("only whole blocks are shared, and only where both files have them at one place") {
  const Run run;
  const Checkpoint checkpoint = run.fixture.open();
  std::uint64_t shared_somewhere = 0;
  for (const std::uint64_t block : {2u, 4u, 8u, 16u, 64u, 512u, 4096u}) {
    CAPTURE(block);
    SharingOs os(block);
    CHECK_FALSE(run.run(os));
    CHECK(read_file(run.fixture.output) == run.complete);
    shared_somewhere += os.calls(Call::copy_range) != 0 ? 1 : 0;
  }
  CHECK(shared_somewhere > 1);
  CHECK(shared_somewhere < 7);
}

TEST_CASE("a file system that cannot share after all is read and written") {
  const Run run;
  for (const int error : {-EXDEV, -ENOSYS, -EOPNOTSUPP, -EINVAL, -EPERM, FaultyOs::kNothing})
    for (std::uint64_t at = 1; at <= 6; ++at) {
      CAPTURE(error);
      CAPTURE(at);
      SharingOs os(1, {Call::copy_range, at, error});
      CHECK_FALSE(run.run(os));
      CHECK(os.triggered());
      CHECK(read_file(run.fixture.output) == run.complete);
      CHECK(os.calls(Call::copy_range) == at);  // and it is not tried again
    }
}

TEST_CASE("a refusal in the middle of a chunk, after a part of it was shared") {
  const Run run;
  struct HalfOs final : SharingOs {
    HalfOs() : SharingOs(1) {}
    std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                            std::size_t size) override {
      if (++calls_ == 2) return -EXDEV;
      return SharingOs::copy_range(from, from_offset, to, to_offset, size / 2 + 1);
    }
    int calls_ = 0;
  } os;
  CHECK_FALSE(run.run(os));
  CHECK(read_file(run.fixture.output) == run.complete);
  CHECK(os.calls_ == 2);
}

TEST_CASE("interrupted and short copies go on") {
  const Run run;
  for (std::uint64_t at = 1; at <= 6; ++at)
    for (const int error : {-EINTR, FaultyOs::kShort}) {
      SharingOs os(1, {Call::copy_range, at, error});
      CHECK_FALSE(run.run(os));
      CHECK(os.triggered());
      CHECK(read_file(run.fixture.output) == run.complete);
    }
  SharingOs os(1, {Call::copy_range, 1, FaultyOs::kShort, true});
  CHECK_FALSE(run.run(os));
  CHECK(read_file(run.fixture.output) == run.complete);
}

TEST_CASE("errors of a copy are errors") {
  const Run run;
  for (const unsigned jobs : {1u, 4u})
    for (const int code : {-EIO, -ENOSPC, -EDQUOT, -ENOMEM})
      for (std::uint64_t at = 1; at <= 6; ++at) {
        CAPTURE(code);
        SharingOs os(1, {Call::copy_range, at, code, true});
        const std::optional<Error> error = run.run(os, jobs);
        REQUIRE(error);
        CHECK(error->code() == ErrorCode::io);
        CHECK(read_file(run.fixture.output) == "an earlier output");
        CHECK(run.fixture.dir.list() ==
              std::vector<std::string>{"model.safetensors", "model.synps"});
      }
}

TEST_CASE("digests are of what was written, whatever the source held meanwhile") {
  const Run run;
  struct OtherBytesOs final : SharingOs {
    OtherBytesOs() : SharingOs(1) {}
    std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                            std::size_t size) override {
      const auto count = SharingOs::copy_range(from, from_offset, to, to_offset, size);
      const std::byte other{0x5A};  // as if the source had it when the kernel copied
      CHECK(pwrite(to, &other, 1, to_offset) == 1);
      return count;
    }
  } os;
  CHECK_FALSE(run.run(os));
  CHECK(read_file(run.fixture.output) != run.complete);
  CHECK(verify(run.fixture.output, builtin_registry()).ok());
}
