// verify of GGUF files: structure alone, and against the checkpoint.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "gguf_output_fixture.h"

namespace synps {
namespace {

using namespace synps::testing;

struct Parts {
  std::vector<std::pair<std::string, std::string>> texts{{"general.name", "n"}, {"other", "o"}};
  std::vector<std::string> tensors{"z", "a"};
  std::string values = bytes_of(test_values(32, 1));
  std::uint32_t type = gguf::kF32;

  GgufBuilder build() const {
    GgufBuilder builder;
    for (const auto& [key, value] : texts) builder.text(key, value);
    for (const std::string& name : tensors) builder.tensor(name, {32}, type, values);
    return builder;
  }
};

std::vector<Problem> problems_after(const std::function<void(Parts&)>& change) {
  Parts parts;
  const GgufOutputRun run(parts.build());
  change(parts);
  write_file(run.output, parts.build().build());
  const VerifyReport report = run.verified();
  CHECK_FALSE(report.has_checksums);
  for (const Problem& problem : report.problems) CHECK(problem.code == ErrorCode::artifact);
  return report.problems;
}

Problem problem_after(const std::function<void(Parts&)>& change) {
  const auto problems = problems_after(change);
  REQUIRE(problems.size() == 1);
  return problems.front();
}

}  // namespace

TEST_CASE("what is not the checkpoint's is found and named") {
  CHECK(problems_after([](Parts&) {}).empty());
  const Problem value = problem_after([](Parts& parts) { parts.texts[1].second = "p"; });
  CHECK(value.what == "the key-value is not the checkpoint's");
  CHECK(value.field == "key 'other'");
  CHECK(value.offset);
  CHECK(problem_after([](Parts& parts) { parts.texts.pop_back(); }).what ==
        "the checkpoint's key-value is not in the file");
  CHECK(problem_after([](Parts& parts) {
          parts.texts.push_back({"new", "n"});
        }).what == "the key-value is not in the checkpoint");
  CHECK(problem_after([](Parts& parts) { std::swap(parts.texts[0], parts.texts[1]); }).what ==
        "the key-value is out of the checkpoint's sequence");
  const Problem sequence =
      problem_after([](Parts& parts) { std::swap(parts.tensors[0], parts.tensors[1]); });
  CHECK(sequence.what == "the tensor is out of the checkpoint's sequence");
  CHECK(sequence.field == "a");
  CHECK(problem_after([](Parts& parts) { parts.tensors.pop_back(); }).what ==
        "the checkpoint's weight is not in the file");
  CHECK(problem_after([](Parts& parts) { parts.tensors.push_back("b"); }).what ==
        "the weight is not in the checkpoint");
}

TEST_CASE("a lossless tensor that differs is a problem, a lossy one has its error") {
  const auto bytes = problems_after([](Parts& parts) { parts.values[5] = 'x'; });
  REQUIRE(bytes.size() == 2);
  CHECK(bytes[0].what.find("a lossless weight differs from its source at byte 5") == 0);
  CHECK(bytes[0].field == "a");

  const Parts parts;
  const GgufOutputRun run(parts.build());
  run.pack(policy_of("[[policies.\"*\".schemes]]\nformat = \"q8_0\"\n"));
  const VerifyReport report = run.verified();
  REQUIRE(report.weights.size() == 2);
  CHECK(report.ok());
  CHECK_FALSE(report.weights[0].lossless);
  CHECK(report.weights[0].rmse > 0);
  CHECK(report.weights[0].snr_db.value_or(0) > 30);
  CHECK(report.bytes == read_file(run.output).size());
}

TEST_CASE("a wider type holds every value") {
  const Parts parts;
  GgufBuilder halves;
  halves.tensor("w", {32}, gguf::kF16, dense_bytes_of(DType::f16, test_values(32, 3)));
  const GgufOutputRun run(halves);
  run.pack(
      policy_of("[myelin]\nformats = [\"f16\"]\n[[policies.\"*\".schemes]]\nformat = \"f32\"\n"));
  std::string bytes = read_file(run.output);
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 0x40);
  write_file(run.output, bytes);
  const VerifyReport report = run.verified();
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].what == "a lossless weight differs from its source at element 31");
}

TEST_CASE("blocks that nothing decodes are compared by their bytes") {
  GgufBuilder builder;
  builder.tensor("w", {256}, gguf::kIQ2_XXS, std::string(66, 'i'));
  const GgufOutputRun run(builder);
  run.pack(keep_all());
  const VerifyReport report = run.verified();
  REQUIRE(report.weights.size() == 1);
  CHECK_FALSE(report.weights[0].compared);
  CHECK(report.weights[0].exact);
}

TEST_CASE("alone only the structure is checked") {
  const Parts parts;
  const GgufOutputRun run(parts.build());
  VerifyReport report = verify(run.input, builtin_registry());
  CHECK(report.ok());
  CHECK_FALSE(report.has_checksums);
  CHECK(report.weights.empty());
  const std::string whole = read_file(run.input);
  for (const std::size_t size : {5u, 30u, 200u}) {
    write_file(run.input, whole.substr(0, size));
    report = verify(run.input, builtin_registry());
    REQUIRE(report.problems.size() == 1);
    CHECK(report.problems[0].code == ErrorCode::artifact);
  }
}

}  // namespace synps
