// What a GGUF output says otherwise than its source, and what it has no place for.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "gguf_file_type.h"
#include "gguf_output_fixture.h"

namespace synps {
namespace {

using namespace synps::testing;
using Strings = std::vector<std::string>;

constexpr const char* kFileType = "general.file_type";
constexpr const char* kBlocks = "general.quantization_version";

GgufBuilder matrix_and_norm() {
  GgufBuilder builder;
  builder.tensor("w.matrix", {256, 2}, gguf::kF16, dense_bytes_of(DType::f16, test_values(512, 1)));
  builder.tensor("norm", {256}, gguf::kF32, bytes_of(test_values(256, 2)));
  return builder;
}

/// What the output says under a key; nothing where it has no such key.
std::optional<std::uint64_t> said(const GgufOutputRun& run, const char* key) {
  const InputFile file(Os::posix(), run.output);
  const GgufHeader header = read_gguf_header(file);
  const GgufKeyValue* value = header.find(key);
  if (value == nullptr) return std::nullopt;
  return GgufValueReader(file).unsigned_integer(*value);
}

}  // namespace

TEST_CASE("file_type names the type of most weights") {
  struct Case {
    const char* format;
    std::uint32_t number;
  };
  for (const Case& each :
       {Case{"f32", 0}, Case{"f16", 1}, Case{"q4_0", 2}, Case{"q4_1", 3}, Case{"q8_0", 7},
        Case{"q5_0", 8}, Case{"q5_1", 9}, Case{"q4_k", 15}, Case{"q5_k", 17}, Case{"q6_k", 18},
        Case{"bf16", 32}, Case{"ternary:tq1_0", 36}, Case{"ternary:tq2_0", 37}}) {
    CAPTURE(each.format);
    const GgufOutputRun run(matrix_and_norm().u32(kFileType, 99));
    const Plan plan = run.pack(matrices_as(each.format));
    const bool copied =
        std::string(each.format) == "f16";  // nothing changes: it stays, right or not
    CHECK(said(run, kFileType) == (copied ? 99u : each.number));
    CHECK(gguf_file_type(*plan.weights[1].gguf_type) == each.number);
    CHECK(changed_keys(plan).size() == (copied ? 0u : plan.weights[1].gguf_type->dtype ? 1u : 2u));
  }
}

TEST_CASE("file_type stays where it names that type already") {
  for (const std::uint32_t number : {14u, 15u}) {
    const GgufOutputRun run(matrix_and_norm().u32(kFileType, number).u32(kBlocks, 2));
    CHECK(run.pack(matrices_as("q4_k")).gguf->changes.empty());
    CHECK(said(run, kFileType) == number);
  }
}

TEST_CASE("elements decide and not tensors, and integers do not count") {
  GgufBuilder builder;
  builder.u32(kFileType, 0);
  builder.tensor("ids", {4096}, gguf::kI32, std::string(4096 * 4, 'i'));
  for (const char* name : {"a", "b", "c"})
    builder.tensor(name, {8}, gguf::kF32, bytes_of(test_values(8, 1)));
  builder.tensor("w.matrix", {32, 2}, gguf::kF32, bytes_of(test_values(64, 2)));
  const GgufOutputRun run(builder);
  run.pack(matrices_as("q8_0"));
  CHECK(said(run, kFileType) == 7);
}

TEST_CASE("a type that has no number takes file_type away") {
  GgufBuilder builder;
  builder.u32(kFileType, 1);
  builder.tensor("wide", {64}, 28, std::string(64 * 8, '\0'));  // F64
  builder.tensor("w.matrix", {32}, gguf::kF32, bytes_of(test_values(32, 2)));
  const GgufOutputRun run(builder);
  const Plan plan = run.pack(matrices_as("f16"));
  CHECK(changed_keys(plan) == Strings{kFileType});
  CHECK(plan.gguf->changes[0].from == 0);
  CHECK_FALSE(plan.gguf->changes[0].to);
  CHECK_FALSE(said(run, kFileType));
}

TEST_CASE("a file without file_type gets none, and one of another type of number is replaced") {
  const GgufOutputRun none(matrix_and_norm());
  CHECK(changed_keys(none.pack(matrices_as("q8_0"))) == Strings{kBlocks});
  CHECK_FALSE(said(none, kFileType));
  const GgufOutputRun text(matrix_and_norm().text(kFileType, "F16"));
  text.pack(matrices_as("q8_0"));
  CHECK(said(text, kFileType) == 7);
}

TEST_CASE("every number of llama.cpp names one type, and the guessed one comes first") {
  for (const GgufType& type : all_gguf_types()) {
    const auto number = gguf_file_type(type);
    if (number) CHECK(names_gguf_type(*number, type));
  }
  CHECK(names_gguf_type(16, *find_gguf_type(13)));
  CHECK(names_gguf_type(29, *find_gguf_type(22)));
  CHECK_FALSE(names_gguf_type(16, *find_gguf_type(12)));
  CHECK_FALSE(gguf_file_type(*find_gguf_type(26)));
}

TEST_CASE("quantization_version is there when anything is quantized") {
  const GgufOutputRun added(matrix_and_norm());
  const Plan plan = added.pack(matrices_as("q8_0"));
  CHECK_FALSE(plan.gguf->changes[0].from);
  CHECK(plan.gguf->changes[0].to == 2);
  CHECK(said(added, kBlocks) == 2);
  const GgufOutputRun dense(matrix_and_norm());
  CHECK(dense.pack(matrices_as("f32")).gguf->changes.empty());
  CHECK_FALSE(said(dense, kBlocks));
  const GgufOutputRun old(matrix_and_norm().u32(kBlocks, 1));
  CHECK(changed_keys(old.pack(matrices_as("q8_0"))) == Strings{kBlocks});
  CHECK(said(old, kBlocks) == 2);
  CHECK(old.pack(matrices_as("f32")).gguf->changes.empty());  // and is left alone when not
}

TEST_CASE("blocks of another version are not passed on") {
  GgufBuilder builder;
  builder.u32(kBlocks, 3);
  builder.tensor("w", {32}, gguf::kQ8_0, std::string(34, '\0'));
  const auto problems = GgufOutputRun(builder).problems(keep_all());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::checkpoint);
  CHECK(problems[0].what == "quantized tensors of a version that is not known here");
  CHECK(problems[0].offset);
}

TEST_CASE("version 2 becomes version 3, and nothing else of the file") {
  const GgufBuilder builder = matrix_and_norm().version(2);
  const GgufOutputRun run(builder);
  CHECK(run.pack(keep_all()).gguf->source_version == 2);
  std::string wanted = builder.build();
  wanted[4] = 3;
  CHECK(read_file(run.output) == wanted);
}

TEST_CASE("parts are joined in their order, without the keys that speak of parts") {
  const auto part = [](std::uint16_t number) {
    GgufBuilder builder;
    if (number == 0) builder.text("general.name", "parts");
    builder.value("split.no", gguf::kUint16, le(number));
    builder.value("split.count", gguf::kUint16, le<std::uint16_t>(2));
    builder.value("split.tensors.count", gguf::kInt32, le(3));
    if (number == 1) builder.text("later", "said by the second part alone");
    return builder;
  };
  const GgufOutputRun run("");
  const std::string values = bytes_of(test_values(9, 1));
  write_file(run.dir.file("m-00001-of-00002.gguf"),
             part(0).tensor("z", {9}, gguf::kF32, values).build());
  write_file(
      run.dir.file("m-00002-of-00002.gguf"),
      part(1).tensor("y", {9}, gguf::kF32, values).tensor("a", {9}, gguf::kF32, values).build());
  GgufOutputRun joined("");
  joined.input = run.dir.file("m-00002-of-00002.gguf");
  const Plan plan = joined.pack(keep_all());
  CHECK(changed_keys(plan) == Strings{"split.no", "split.count", "split.tensors.count"});
  for (const GgufChange& change : plan.gguf->changes) CHECK_FALSE(change.to);
  GgufBuilder wanted;
  wanted.text("general.name", "parts").text("later", "said by the second part alone");
  for (const char* name : {"z", "y", "a"}) wanted.tensor(name, {9}, gguf::kF32, values);
  CHECK(read_file(joined.output) == wanted.build());
}

TEST_CASE("what policies ask for and GGUF has no place for is counted") {
  const GgufOutputRun run(matrix_and_norm());
  const Plan plan = run.pack(policy_of(R"([policies."*"]
dtype = "bf16"
[[policies."*".schemes]]
format = "keep"
[[policies."kv.**".schemes]]
format = "f16"
scope = "internal"
lifetime = "session"
[policies."w".form]
orientation = "in_out"
[policies."norm".form]
residency = "mapped"
[[policies."norm".schemes]]
format = "keep"
volatile = true
)"));
  Strings told;
  for (const NotCarried& each : plan.gguf->not_carried)
    told.push_back(each.key + " " + each.value + " " + std::to_string(each.count) + " " +
                   each.example);
  CHECK(told == Strings{"dtype bf16 2 norm", "form.orientation in_out 1 w.matrix",
                        "form.residency mapped 1 norm", "values  1 kv.**", "volatile  1 norm"});
}

}  // namespace synps
