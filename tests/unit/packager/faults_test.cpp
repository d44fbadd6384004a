// A fault at every call that packing makes to the operating system: an error or a complete
// artifact, never anything between.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "faulty_os.h"
#include "pack_run.h"
#include "synps/unpack.h"
#include "synps/verify.h"

using namespace synps;
using namespace synps::testing;
using Call = FaultyOs::Call;

namespace {

/// Copied, encoded, with scales that finish() reads back, and analysed ones.
SafetensorsBuilder tensors() {
  SafetensorsBuilder builder;
  add_floats(builder, "copied", DType::f16, {8, 64}, 1);
  add_floats(builder, "packed", DType::f32, {8, 64}, 2);
  add_floats(builder, "rows", DType::f32, {8, 64}, 3);
  add_floats(builder, "analysed", DType::f32, {8, 64}, 4);
  add_floats(builder, "frames", DType::f32, {8, 64}, 5);
  return builder;
}

Policy policy() {
  return policy_of(R"([[policies."copied".schemes]]
format = "f16"
[[policies."packed".schemes]]
format = "q8_0"
[[policies."rows".schemes]]
format = "ternary"
[[policies."analysed".schemes]]
format = "ternary:absmean"
[[policies."frames".schemes]]
format = "ternary"
[policies."{frames,analysed,copied}".form]
compress = "zstd"
)");
}

struct Run : PackRun {
  Run() : PackRun(tensors(), policy()) {}
};

/// Key-values, also long ones, a weight that is copied and one that is encoded.
GgufBuilder gguf_tensors() {
  GgufBuilder builder;
  builder.text("general.name", "faults").text("long", std::string(100'000, 'l'));
  builder.tensor("copied", {64, 8}, gguf::kF16, dense_bytes_of(DType::f16, test_values(512, 1)));
  builder.tensor("packed", {64, 8}, gguf::kF32, bytes_of(test_values(512, 2)));
  return builder;
}

struct GgufRun : PackRun {
  GgufRun()
      : PackRun(gguf_tensors(), policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n"
                                          "[[policies.\"packed\".schemes]]\n"
                                          "format = \"q8_0\"\n")) {}
};

/// A call that is made again.
bool must_survive(const FaultyOs::Fault& fault) {
  return fault.error == -EINTR || fault.error == FaultyOs::kShort;
}

/// Closing what was only read can fail without consequence, and a path that cannot be looked at may
/// be looked at again.
bool must_fail(const FaultyOs::Fault& fault) {
  return !must_survive(fault) && fault.call != Call::close && fault.call != Call::status;
}

void check_outcome(const PackRun& run, const FaultyOs::Fault& fault,
                   const std::optional<Error>& error) {
  const std::string left = read_file(run.fixture.output);
  if (error) {
    CHECK(error->code() == ErrorCode::io);
    CHECK_FALSE(must_survive(fault));
    // Only a folder that cannot be synced is told after the file has its name.
    const bool complete = fault.call == Call::sync && left == run.complete;
    CHECK_FALSE((!complete && left != kEarlier));
  } else {
    CHECK(left == run.complete);
  }
  CHECK(run.fixture.dir.list() == run.files());
}

/// Puts a fault at the first, second, … call of a kind, until a run makes no such call any more.
/// Returns how many runs had the fault.
std::uint64_t try_every_call(const PackRun& run, FaultyOs::Fault fault, unsigned jobs) {
  for (fault.at = 1;; ++fault.at) {
    CAPTURE(FaultyOs::name(fault.call));
    CAPTURE(fault.at);
    CAPTURE(fault.error);
    CAPTURE(jobs);
    FaultyOs os(fault);
    const std::optional<Error> error = run.run(os, jobs);
    if (!os.triggered()) {
      CHECK_FALSE(error);
      return fault.at - 1;
    }
    check_outcome(run, fault, error);
    if (must_fail(fault)) CHECK(error);
  }
}

}  // namespace

TEST_CASE("an error at any call leaves the earlier output, and nothing else") {
  const Run run;
  for (const Call call : FaultyOs::all_calls())
    for (const int error : {-EIO, -ENOSPC, -EDQUOT, -ENOMEM}) {
      const std::uint64_t runs = try_every_call(run, {call, 0, error}, 1);
      CAPTURE(FaultyOs::name(call));
      // Packing neither maps its input nor removes a file when all goes well; pack_copy_test.cpp
      // has faults of copy_range.
      if (call != Call::map && call != Call::unlink && call != Call::copy_range &&
          call != Call::discard)
        CHECK(runs > 0);
    }
}

TEST_CASE("an error at any call that writing GGUF makes leaves the earlier output") {
  const GgufRun run;
  for (const Call call : FaultyOs::all_calls())
    for (const int error : {-EIO, -ENOSPC}) {
      const std::uint64_t runs = try_every_call(run, {call, 0, error}, 1);
      CAPTURE(FaultyOs::name(call));
      if (call == Call::pread || call == Call::pwrite || call == Call::allocate ||
          call == Call::sync || call == Call::rename)
        CHECK(runs > 0);
    }
  for (const Call call : {Call::pread, Call::pwrite}) {
    CHECK(try_every_call(run, {call, 0, -EINTR}, 1) > 0);
    CHECK(try_every_call(run, {call, 0, FaultyOs::kShort}, 1) > 0);
    CHECK(try_every_call(run, {call, 0, -EIO}, 4) > 0);
  }
}

TEST_CASE("interrupted calls and short transfers are made again") {
  const Run run;
  for (const Call call : {Call::open, Call::close, Call::pread, Call::pwrite, Call::allocate,
                          Call::sync, Call::lock, Call::rename, Call::truncate})
    CHECK(try_every_call(run, {call, 0, -EINTR}, 1) > 0);
  for (const Call call : {Call::pread, Call::pwrite})
    CHECK(try_every_call(run, {call, 0, FaultyOs::kShort}, 1) > 0);
}

TEST_CASE("transfers that are always short come to an end") {
  const Run run;
  for (const Call call : {Call::pread, Call::pwrite}) {
    FaultyOs os({call, 1, FaultyOs::kShort, true});
    CHECK_FALSE(run.run(os, 1));
    CHECK(read_file(run.fixture.output) == run.complete);
  }
}

TEST_CASE("a disk that fills up and stays full, with several workers") {
  const Run run;
  for (const unsigned jobs : {1u, 4u})
    for (FaultyOs::Fault fault{Call::pwrite, 1, -ENOSPC, true};; ++fault.at) {
      CAPTURE(jobs);
      CAPTURE(fault.at);
      FaultyOs os(fault);
      const std::optional<Error> error = run.run(os, jobs);
      if (!os.triggered()) break;
      REQUIRE(error);
      CHECK(error->code() == ErrorCode::io);
      check_outcome(run, fault, error);
    }
}

TEST_CASE("a fault in a worker stops the others") {
  const Run run;
  for (const Call call : {Call::pread, Call::pwrite})
    CHECK(try_every_call(run, {call, 0, -EIO}, 4) > 0);
}

TEST_CASE("without an earlier output nothing appears under the final name") {
  const Run run;
  for (const Call call : {Call::pread, Call::pwrite, Call::allocate, Call::sync, Call::rename})
    for (FaultyOs::Fault fault{call, 1, -EIO};; ++fault.at) {
      CAPTURE(FaultyOs::name(call));
      CAPTURE(fault.at);
      std::filesystem::remove(run.fixture.output);
      FaultyOs os(fault);
      const auto problems = problems_of([&] { run.pack(os, 1); });
      if (!os.triggered()) break;
      REQUIRE(problems.size() == 1);
      const bool named_already = call == Call::sync && fault.at == 2;
      const std::vector<std::string> only_input = {"model.safetensors"};
      const std::vector<std::string> both = {"model.safetensors", "model.synps"};
      CHECK(run.fixture.dir.list() == (named_already ? both : only_input));
    }
}

TEST_CASE("a file size limit is an I/O error that leaves nothing") {
  const PackFixture fixture(tensors());
  const Policy rules = policy();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // No doctest in here: the parent reports.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    int code = 1;
    if (::setrlimit(RLIMIT_FSIZE, &limit) == 0) {
      try {
        fixture.pack(rules);
      } catch (const Error& error) {
        code = static_cast<int>(error.code());
      }
    }
    std::_Exit(code);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(ErrorCode::io));
  CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});
}

TEST_CASE("faults while verifying and unpacking are I/O errors, never damage") {
  const Run run;
  const std::string plain = run.fixture.dir.file("plain.safetensors");
  UnpackOptions replace;
  replace.replace = true;
  unpack(run.fixture.output, plain, builtin_registry(), replace);
  const std::string complete = read_file(plain);
  for (const Call call : FaultyOs::all_calls())
    for (const int error : {-EIO, FaultyOs::kShort}) {
      if (error == FaultyOs::kShort && call != Call::pread && call != Call::pwrite) continue;
      for (FaultyOs::Fault fault{call, 1, error};; ++fault.at) {
        CAPTURE(FaultyOs::name(call));
        CAPTURE(fault.at);
        CAPTURE(fault.error);
        FaultyOs verify_os(fault);
        const auto verify_problems = problems_of([&] {
          const VerifyReport report = verify(run.fixture.output, builtin_registry(), {}, verify_os);
          CHECK(report.ok());
        });
        for (const Problem& problem : verify_problems) CHECK(problem.code == ErrorCode::io);
        if (verify_os.triggered() && must_fail(fault)) CHECK_FALSE(verify_problems.empty());

        write_file(plain, kEarlier);
        FaultyOs unpack_os(fault);
        const auto unpack_problems = problems_of(
            [&] { unpack(run.fixture.output, plain, builtin_registry(), replace, unpack_os); });
        for (const Problem& problem : unpack_problems) CHECK(problem.code == ErrorCode::io);
        if (unpack_os.triggered() && must_fail(fault)) CHECK_FALSE(unpack_problems.empty());
        const std::string left = read_file(plain);
        CHECK(left == (unpack_problems.empty() || left != kEarlier ? complete : kEarlier));
        CHECK(run.fixture.dir.list() ==
              std::vector<std::string>{"model.safetensors", "model.synps", "plain.safetensors"});
        if (!verify_os.triggered() && !unpack_os.triggered()) break;
      }
    }
}
