// order = "kernel_feed" against what kernels feed on.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "policy_fixture.h"
#include "synps/kernel.h"
#include "synps/pack_source.h"

namespace synps::testing {
namespace {

/// Kernels of one machine: they feed on f16, and on q4_0, which they want in rows8.
PackTarget a_target() {
  KernelRegistry kernels;
  for (const Order order : {Order::rows1, Order::rows8}) {
    Kernel kernel;
    kernel.key = {KernelOp::matvec, "q4_0:q4_0", order, Target::cpu_avx2};
    kernel.wanted = order == Order::rows8;
    kernels.add(kernel);
  }
  Kernel dense;
  dense.key = {KernelOp::matvec, "f16:f16", Order::rows1, Target::cpu_avx2};
  dense.dense = true;
  kernels.add(dense);
  return {kernels.capabilities(TargetRequest::cpu_avx2), std::nullopt, "cpu-avx2"};
}

std::string feeding(const std::string& format) {
  return "[myelin]\nformats = [\"bf16\"]\n[[policies.\"*\".schemes]]\nformat = \"" + format +
         "\"\n[policies.\"*\".form]\norder = \"kernel_feed\"\n";
}

std::vector<Problem> problems_for(const std::string& format,
                                  const std::vector<WeightFacts>& weights, const PackTarget& target,
                                  OutputKind output = OutputKind::artifact) {
  const PackTargets targets(target);
  ResolveOptions options;
  options.target = &targets;
  options.output = output;
  return resolve_problems(feeding(format), weights, options);
}

TEST_CASE("kernel_feed is fine where kernels feed on the codec") {
  const PackTarget target = a_target();
  CHECK(problems_for("f16", {facts("w")}, target).empty());
  CHECK(problems_for("f16", {facts("w", DType::bf16, {256})}, target).empty());
  CHECK(problems_for("q4_0", {facts("w")}, target).empty());
  // The same bytes in any order.
  CHECK(problems_for("q4_0", {facts("w", DType::bf16, {7, 64})}, target).empty());
  CHECK(problems_for("q4_0", {facts("w", DType::bf16, {64, 32})}, target).empty());
  // Nothing to store, or nothing that a policy decides.
  CHECK(problems_for("q8_0", {facts("w", DType::bf16, {0, 32})}, target).empty());
  CHECK(problems_for("f16", {facts("w"), facts("ids", DType::i64)}, target).empty());
  // Without a target nothing is judged.
  CHECK(resolve_problems(feeding("q8_0"), {facts("w")}).empty());
}

TEST_CASE("kernel_feed is an error, once, where no kernel feeds on the codec") {
  const PackTarget target = a_target();
  const auto problems = problems_for("q8_0", facts_of({"a", "b"}), target);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(place(problems[0]) == "6:1");
  CHECK(problems[0].what == "no kernel of cpu-avx2 feeds on a codec: 2 weights, such as 'a'");
  CHECK(problems[0].field == "form.order");
  CHECK(problems[0].found == "order = \"kernel_feed\" for q8_0");
  CHECK(problems[0].hint ==
        "set order = \"auto\" for these weights, or give them a format that kernels feed on: f16, "
        "q4_0");
  const auto none = problems_for("f16", {facts("w")}, PackTarget{});
  REQUIRE(none.size() == 1);
  CHECK(contains(none[0].what, "no kernel of the target feeds on a codec"));
  CHECK(none[0].hint == "set order = \"auto\" for these weights");
}

TEST_CASE("kernel_feed is an error where the wanted order is for matrices alone") {
  const PackTarget target = a_target();
  const auto problems = problems_for(
      "q4_0", {facts("a", DType::bf16, {64}), facts("b", DType::bf16, {4, 8, 64})}, target);
  REQUIRE(problems.size() == 2);
  for (const Problem& problem : problems) {
    CHECK(place(problem) == "6:1");
    CHECK(contains(problem.what, "a weight cannot have the order that kernels of cpu-avx2 want"));
    CHECK(problem.want == "a matrix, which rows8 is for");
    CHECK(problem.hint == "set order = \"auto\" for these weights");
  }
  CHECK(problems[0].found == "q4_0 of rank 1");
  CHECK(problems[1].found == "q4_0 of rank 3");
}

TEST_CASE("a GGUF file has one order") {
  const PackTarget target = a_target();
  const auto problems = problems_for("q4_0", facts_of({"a", "b"}), target, OutputKind::gguf);
  REQUIRE(problems.size() == 1);
  CHECK(place(problems[0]) == "6:1");
  CHECK(contains(problems[0].what, "GGUF holds rows one after the other alone"));
  CHECK(problems[0].found == "order = \"kernel_feed\"");
  CHECK(contains(problems[0].hint, "set order = \"auto\" for these weights"));
  CHECK(problems_for("f16", {facts("ids", DType::i64)}, target, OutputKind::gguf).size() <= 1);
}

TEST_CASE("what packing can make of a weight follows from facts and policy") {
  const Policy policy = parse(feeding("q4_0"));
  const WeightFacts matrix = facts("w", DType::bf16, {16, 64});
  const auto resolved = policy.resolve({matrix});
  const PackSource source = pack_source(facts_registry(), matrix, resolved[0]);
  CHECK(source.codec == "q4_0:q4_0");
  CHECK(source.converts);
  CHECK(source.packed);
  CHECK(source.matrix);
  CHECK_FALSE(source.is_volatile);
  CHECK(source.compression == Compression::none);
  const WeightFacts ids = facts("ids", DType::i64, {16, 64});
  const PackSource kept = pack_source(facts_registry(), ids, policy.resolve({ids})[0]);
  CHECK(kept.codec == "keep");
  CHECK_FALSE(kept.converts);
  CHECK_FALSE(kept.packed);
  CHECK_FALSE(kept.rows8);
}

}  // namespace
}  // namespace synps::testing
