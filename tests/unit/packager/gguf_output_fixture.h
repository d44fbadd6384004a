#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_builder.h"
#include "pack_fixture.h"
#include "synps/verify.h"

namespace synps::testing {

/// A GGUF checkpoint, and the GGUF file that is made of it.
struct GgufOutputRun {
  TempDir dir;
  std::string input = dir.file("model.gguf");
  std::string output = dir.file("out.gguf");

  explicit GgufOutputRun(std::string_view bytes) { write_file(input, bytes); }
  explicit GgufOutputRun(const GgufBuilder& builder) : GgufOutputRun(builder.build()) {}

  /// Packs, checks that the file has the planned size and what verify says, and returns the plan.
  Plan pack(const Policy& policy, unsigned jobs = 2) const {
    const Checkpoint checkpoint = Checkpoint::open(input);
    const Plan plan = make_plan(checkpoint, policy, {.output = OutputKind::gguf});
    PackOptions options;
    options.replace = true;
    options.jobs = jobs;
    CHECK(synps::pack(checkpoint, plan, output, options).artifact_bytes == plan.artifact_bytes);
    CHECK(read_file(output).size() == plan.artifact_bytes);
    const VerifyReport report = verified();
    for (const Problem& problem : report.problems) FAIL_CHECK(to_string(problem));
    CHECK(report.weights.size() == plan.weights.size());
    for (std::size_t i = 0; i < report.weights.size(); ++i) {
      CAPTURE(report.weights[i].path);
      CHECK(report.weights[i].lossless == plan.weights[i].lossless);
      if (plan.weights[i].lossless) CHECK(report.weights[i].exact);
    }
    return plan;
  }
  VerifyReport verified(unsigned jobs = 2) const {
    const Checkpoint checkpoint = Checkpoint::open(input);
    VerifyOptions options;
    options.against = &checkpoint;
    options.jobs = jobs;
    return verify(output, builtin_registry(), options);
  }
  GgufHeader header() const { return read_gguf_header(InputFile(Os::posix(), output)); }
  std::vector<Problem> problems(const Policy& policy) const {
    const Checkpoint checkpoint = Checkpoint::open(input);
    return problems_of([&] { make_plan(checkpoint, policy, {.output = OutputKind::gguf}); });
  }
};

inline std::string encoded(const char* codec_name, const std::vector<float>& values) {
  const Codec& codec = *builtin_registry().resolve(codec_name);
  const Weight weight{"values", Shape{values.size()}, DType::f32};
  std::vector<std::byte> bytes(codec.row_bytes(0, values.size()));
  const std::span<std::byte> out[] = {bytes};
  ValueReport report;
  codec.encode(Piece{&weight, 0, 1, values.size()}, values, nullptr, out, report);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Policy keep_all() {
  return policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n");
}

/// Declares what GGUF sources of these tests hold; weights of two dimensions get the format.
inline Policy matrices_as(const std::string& format) {
  return policy_of(
      "[myelin]\nformats = [\"f16\", \"q8_0\", \"q4_0\"]\n"
      "[[policies.\"*\".schemes]]\nformat = \"keep\"\n"
      "[[policies.\"**.matrix\".schemes]]\nformat = \"" +
      format + "\"\n");
}

inline std::vector<std::string> changed_keys(const Plan& plan) {
  std::vector<std::string> keys;
  for (const GgufChange& change : plan.gguf->changes) keys.push_back(change.key);
  return keys;
}

}  // namespace synps::testing
