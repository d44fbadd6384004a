// GGUF files as pack writes them: the bytes, in their order.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "faulty_os.h"
#include "gguf_layout.h"
#include "gguf_output_fixture.h"

namespace synps {
namespace {

using namespace synps::testing;

/// Tensors in an order that is not that of their names, with padding between them.
GgufBuilder& add_tensors(GgufBuilder& builder) {
  builder.tensor("z.matrix", {64, 10}, gguf::kF32, bytes_of(test_values(640, 1)));
  builder.tensor("b.ids", {3}, gguf::kI32, "123456789abc");
  builder.tensor("a.matrix", {64, 5}, gguf::kF16, dense_bytes_of(DType::f16, test_values(320, 2)));
  builder.tensor("m.undecoded", {256, 3}, gguf::kIQ2_XXS, std::string(66 * 3, 'i'));
  builder.tensor("c.norm", {7}, gguf::kF32, bytes_of(test_values(7, 3)));
  builder.tensor("scalar", {}, gguf::kF32, bytes_of(test_values(1, 4)));
  builder.tensor("cube", {32, 2, 2, 2}, gguf::kQ8_0, encoded("q8_0", test_values(256, 5)));
  return builder;
}

/// Every type of value, arrays in arrays, a vocabulary longer than any buffer.
GgufBuilder& add_keys(GgufBuilder& builder) {
  builder.u32("general.quantization_version", 2);
  builder.text("general.architecture", "llama").value("u8", gguf::kUint8, le<std::uint8_t>(200));
  builder.value("i8", gguf::kInt8, le<std::int8_t>(-5)).value("u16", gguf::kUint16, "\x01\x02");
  builder.value("i16", gguf::kInt16, "\xff\xfe").value("i32", gguf::kInt32, le(-7));
  builder.value("f32", gguf::kFloat32, le(0x7fc00001u)).value("yes", gguf::kBool, "\x01");
  builder.value("u64", gguf::kUint64, le(~std::uint64_t{0})).value("i64", gguf::kInt64, le(-9LL));
  builder.value("f64", gguf::kFloat64, le(0.1)).text("empty", "").text("odd", "\xff\x80 no UTF-8");
  builder.array("none", gguf::kInt32, 0, "");
  const std::string inner = GgufBuilder::array_bytes(gguf::kUint8, 3, "abc");
  builder.array("nested", gguf::kArray, 2,
                inner + GgufBuilder::array_bytes(gguf::kArray, 1, inner));
  std::vector<std::string> words;
  for (int i = 0; i < 20'000; ++i) words.push_back("word " + std::to_string(i));
  builder.texts("tokens", words);
  builder.text("template", std::string(200'000, 't'));
  return builder;
}

}  // namespace

TEST_CASE("a file that is kept as it is comes out byte for byte") {
  GgufBuilder builder;
  add_tensors(add_keys(builder));
  const GgufOutputRun run(builder);
  const Plan plan = run.pack(keep_all());
  CHECK(plan.gguf->changes.empty());
  CHECK(plan.gguf->not_carried.empty());
  CHECK(read_file(run.output) == builder.build());
}

TEST_CASE("an alignment of its own is kept and honoured, and padding is zeros") {
  for (const std::uint64_t alignment : {8u, 64u, 4096u}) {
    CAPTURE(alignment);
    GgufBuilder builder;
    builder.alignment(alignment).u32("general.alignment", static_cast<std::uint32_t>(alignment));
    builder.u32("general.quantization_version", 2);
    add_tensors(builder);
    const GgufOutputRun run(builder);
    run.pack(keep_all());
    CHECK(read_file(run.output) == builder.build());
    const Plan plan = run.pack(matrices_as("q8_0"));
    const std::string bytes = read_file(run.output);
    std::uint64_t end = 0;
    for (const GgufTensor& tensor : run.header().tensors) {
      CHECK(tensor.offset % alignment == 0);
      if (end != 0)
        CHECK(bytes.substr(end, tensor.offset - end) == std::string(tensor.offset - end, '\0'));
      end = tensor.offset + tensor.bytes;
    }
    CHECK(bytes.substr(end) == std::string(bytes.size() - end, '\0'));
    CHECK(bytes.size() % alignment == 0);
  }
}

TEST_CASE("weights are encoded in place, and everything else stays as it is and where it was") {
  GgufBuilder source;
  add_tensors(add_keys(source));
  const GgufOutputRun run(source);
  run.pack(matrices_as("q8_0"));
  // What is expected, built by hand.
  GgufBuilder wanted;
  add_keys(wanted);
  std::vector<float> halves(320);
  const std::string half_bytes = dense_bytes_of(DType::f16, test_values(320, 2));
  const Weight weight{"values", Shape{320}, DType::f16};
  const std::span<const std::byte> in[] = {std::as_bytes(std::span(half_bytes))};
  builtin_registry().for_dtype(DType::f16)->decode(Piece{&weight, 0, 1, 320}, in, halves);
  wanted.tensor("z.matrix", {64, 10}, gguf::kQ8_0, encoded("q8_0", test_values(640, 1)));
  wanted.tensor("b.ids", {3}, gguf::kI32, "123456789abc");
  wanted.tensor("a.matrix", {64, 5}, gguf::kQ8_0, encoded("q8_0", halves));
  wanted.tensor("m.undecoded", {256, 3}, gguf::kIQ2_XXS, std::string(66 * 3, 'i'));
  wanted.tensor("c.norm", {7}, gguf::kF32, bytes_of(test_values(7, 3)));
  wanted.tensor("scalar", {}, gguf::kF32, bytes_of(test_values(1, 4)));
  wanted.tensor("cube", {32, 2, 2, 2}, gguf::kQ8_0, encoded("q8_0", test_values(256, 5)));
  CHECK(read_file(run.output) == wanted.build());
}

TEST_CASE("every codec that GGUF has a type for is written under that type") {
  for (const Codec* codec : builtin_registry().all()) {
    const GgufType* type = gguf_type_of_codec(codec->info().id());
    if (type == nullptr || !codec->info().encodes) continue;
    CAPTURE(codec->info().id());
    const std::vector<float> values = test_values(512, 8);
    GgufBuilder builder;
    builder.tensor("w.matrix", {512}, gguf::kF32, bytes_of(values));
    const GgufOutputRun run(builder);
    run.pack(matrices_as(codec->info().id()));
    const GgufTensor tensor = run.header().tensors.front();
    CHECK(tensor.type == type->number);
    CHECK(read_file(run.output).substr(tensor.offset, tensor.bytes) ==
          encoded(codec->info().id().c_str(), values));
  }
}

TEST_CASE("neither workers nor shared bytes change the file") {
  GgufBuilder builder;
  builder.tensor("copied.big", {2048, 700}, gguf::kF32, bytes_of(test_values(2048 * 700, 1)));
  builder.tensor("big.matrix", {2048, 300}, gguf::kF32, bytes_of(test_values(2048 * 300, 2)));
  const GgufOutputRun run(builder);
  run.pack(matrices_as("q4_0"), 1);
  const std::string one = read_file(run.output);
  run.pack(matrices_as("q4_0"), 5);
  CHECK(read_file(run.output) == one);

  const Checkpoint checkpoint = Checkpoint::open(run.input);
  const Policy policy = matrices_as("q4_0");
  const Plan plan = make_plan(checkpoint, policy, {.output = OutputKind::gguf});
  FaultyOs os(FaultyOs::Fault{});
  os.shared_block = 1;
  PackOptions options;
  options.replace = true;
  pack(checkpoint, plan, run.output, options, os);
  CHECK(read_file(run.output) == one);
  CHECK(os.calls(FaultyOs::Call::copy_range) == 6);  // the chunks of the copied weight
  CHECK(os.calls(FaultyOs::Call::pread) == 0);       // of the output: nothing is hashed
}

TEST_CASE("names and ranks that GGUF has no room for are refused by the writer") {
  const auto problem = [](const Weight& weight) {
    const auto problems = problems_of([&] { check_gguf_tensor(weight, "model.gguf"); });
    return problems.empty() ? Problem{} : problems.front();
  };
  CHECK(problem({std::string(63, 'n'), Shape{1, 2, 3, 4}}).what.empty());
  const Problem name = problem({std::string(64, 'n'), Shape{2}});
  CHECK(name.code == ErrorCode::checkpoint);
  CHECK(name.what == "a tensor's name is of a length that GGUF does not allow");
  CHECK(name.found == "64 bytes");
  CHECK(name.want == "1 to 63");
  CHECK(problem({"", Shape{2}}).found == "0 bytes");
  const Problem rank = problem({"w", Shape{1, 1, 1, 1, 2}});
  CHECK(rank.what == "a tensor has more dimensions than GGUF allows");
  CHECK(rank.found == "5");
}

TEST_CASE("a checkpoint that is no GGUF is refused, whatever the policy") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const auto problems =
      problems_of([&] { make_plan(checkpoint, mixed_policy(), {.output = OutputKind::gguf}); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::usage);
  CHECK(problems[0].found.find("converter's job") != std::string::npos);
  CHECK(problems[0].hint.find("convert_hf_to_gguf.py") != std::string::npos);
}

TEST_CASE("a checkpoint that changes while it is packed is no output") {
  GgufBuilder builder;
  add_tensors(builder);
  const GgufOutputRun run(builder);
  const Checkpoint checkpoint = Checkpoint::open(run.input);
  const Plan plan = make_plan(checkpoint, keep_all(), {.output = OutputKind::gguf});
  PackOptions options;
  bool changed = false;
  options.jobs = 1;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    if (!changed) write_file(run.input, builder.build() + std::string(1, '\0'));
    changed = true;
    return true;
  };
  const auto problems = problems_of([&] { pack(checkpoint, plan, run.output, options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::checkpoint);
  CHECK(run.dir.list() == std::vector<std::string>{"model.gguf"});
}

}  // namespace synps
