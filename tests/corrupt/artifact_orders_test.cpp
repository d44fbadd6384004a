// Artifacts that claim an order which a weight cannot have, or has not.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/unpack.h"
#include "synps/verify.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

WeightToStore weight(const std::string& codec, const Shape& shape, Order order) {
  WeightToStore made;
  made.path = "the.weight";
  made.shape = shape;
  made.codec = codec;
  made.order = order;
  made.values = test_values(shape.elements());
  return made;
}

void check_refused(const std::string& file, const TempDir& dir) {
  const auto problem_in = [&](const std::vector<Problem>& problems) {
    REQUIRE_FALSE(problems.empty());
    CHECK(problems.front().code == ErrorCode::artifact);
    CHECK(problems.front().field == "the.weight");
    CHECK(problems.front().what.find("it claims the order rows8") == 0);
  };
  problem_in({thrown_problem([&] { Artifact::open(file); })});
  problem_in({thrown_problem([&] { unpack(file, dir.file("out"), builtin_registry()); })});
  problem_in(verify(file, builtin_registry()).problems);
}

}  // namespace

TEST_CASE("rows8 of a weight that is never stored so is refused, and named") {
  const TempDir dir;
  const struct {
    const char* codec;
    Shape shape;
  } cases[] = {
      {"f32", {16, 64}},               // dense
      {"f16", {16, 64}},               // dense, and stored as no source has it
      {"q8_0", {512}},                 // of rank 1
      {"q8_0", {2, 8, 64}},            // of rank 3
      {"q8_0", {7, 64}},               // of fewer than eight rows
      {"q8_0", {16, 32}},              // of one block a row
      {"ternary", {16, 100}},          // of one block a row in each component
      {"ternary:absmean", {16, 512}},  // of a codec without blocks
  };
  int number = 0;
  for (const auto& each : cases) {
    CAPTURE(each.codec);
    CAPTURE(each.shape.to_string());
    const std::string file = dir.file(std::to_string(++number));
    build_artifact(file, {weight(each.codec, each.shape, Order::rows8)});
    check_refused(file, dir);
  }
}

TEST_CASE("rows8 of bytes that are kept is refused") {
  const TempDir dir;
  WeightToStore ids;
  ids.path = "the.weight";
  ids.shape = {16, 4};
  ids.dtype = DType::i64;
  ids.bytes.resize(16 * 4 * 8);
  ids.order = Order::rows8;
  build_artifact(dir.file("a"), {ids});
  check_refused(dir.file("a"), dir);
}

TEST_CASE("another order in the index is found by the index's digest") {
  const TempDir dir;
  const std::string file = dir.file("a");
  for (const Order order : {Order::rows1, Order::rows8}) {
    build_artifact(dir.file(std::string(to_string(order))), {weight("q4_0", {16, 64}, order)});
    std::string bytes = read_file(dir.file(std::string(to_string(order))));
    const std::string from(to_string(order));
    const std::string to(to_string(order == Order::rows1 ? Order::rows8 : Order::rows1));
    std::size_t flipped = 0;
    for (std::size_t at = bytes.find(from); at != std::string::npos;
         at = bytes.find(from, at + 1)) {
      bytes.replace(at, from.size(), to);
      ++flipped;
    }
    CHECK(flipped == 2);  // of the form, and of the component
    write_file(file, bytes);
    const Problem problem = thrown_problem([&] { Artifact::open(file); });
    CHECK(problem.code == ErrorCode::artifact);
    CHECK_FALSE(verify(file, builtin_registry()).ok());
  }
}

TEST_CASE("a component in another order than its form is refused") {
  const TempDir dir;
  ArtifactContents contents;
  StoredWeight stored = describe_weight(weight("q4_0", {16, 64}, Order::rows8), builtin_registry());
  stored.form.order = Order::rows1;
  contents.weights.push_back(stored);
  const ArtifactLayout layout = lay_out(std::move(contents), CodecRowBytes(builtin_registry()));
  const Problem problem = thrown_problem([&] { parse_index(to_json(layout.index), "file"); });
  CHECK(problem.code == ErrorCode::artifact);
  CHECK(problem.field.find("components[0].order") != std::string::npos);
}
