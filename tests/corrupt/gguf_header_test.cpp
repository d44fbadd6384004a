#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gguf_builder.h"
#include "gguf_problem.h"

namespace synps {
namespace {

using namespace synps::testing;

constexpr std::uint64_t kHuge = UINT64_MAX;

TEST_CASE("a file of 0 to 23 bytes") {
  const std::string whole = GgufBuilder().build();
  for (std::size_t size = 0; size < 24; ++size) {
    CAPTURE(size);
    const Problem problem = gguf_problem(whole.substr(0, size));
    CHECK(problem.what == "the file is too short for GGUF");
    CHECK(problem.want == "at least 24 bytes");
  }
  CHECK(gguf_problem(whole).what == "(nothing was thrown)");
}

TEST_CASE("wrong magic") {
  for (const char* magic : {"GGML", "FUGG", "gguf", "GGU\xC6"}) {
    const Problem problem = gguf_problem(GgufBuilder().magic(magic).build());
    CHECK(problem.what == "the file does not start as GGUF does");
    CHECK(problem.offset == 0);
  }
}

TEST_CASE("a git-lfs pointer, a zip archive and a pickle under the name of a GGUF file") {
  const auto found = [](std::string_view bytes) { return gguf_problem(bytes).found; };
  CHECK(found("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21463\nsize 52\n") ==
        "a git-lfs pointer, not the file itself");
  CHECK(found("PK\x03\x04 and something that follows it") ==
        "a zip archive, as PyTorch saves pickles");
}

TEST_CASE("versions 0, 1 and 4") {
  for (const std::uint32_t version : {0u, 1u, 4u, UINT32_MAX}) {
    CAPTURE(version);
    const Problem problem = gguf_problem(GgufBuilder().version(version).build());
    CHECK(problem.what == "a GGUF version that is not read");
    CHECK(problem.want == "version 2 or 3");
    CHECK(problem.offset == 4);
    CHECK(problem.hint.empty() == (version != 1));
  }
}

TEST_CASE("a big-endian file") {
  const Problem problem = gguf_problem(GgufBuilder().version(0x03000000).build());
  CHECK(problem.what == "a big-endian GGUF file");
  CHECK(problem.found == "version 3, its bytes swapped");
  CHECK(problem.hint == "convert it to little-endian first");
}

TEST_CASE("counts above what the file can hold") {
  for (const std::uint64_t count : {std::uint64_t{6}, std::uint64_t{1} << 40, kHuge}) {
    CAPTURE(count);
    GgufBuilder builder;
    builder.u32("a", 1).u32("b", 2).u32("c", 3);
    const Problem tensors = gguf_problem(builder.counts(count, std::nullopt).build());
    CHECK(tensors.what == "more tensors than the file can hold");
    CHECK(tensors.offset == 8);
    const Problem keys = gguf_problem(builder.counts(std::nullopt, count).build());
    CHECK(keys.what == "more key-values than the file can hold");
    CHECK(keys.offset == 16);
  }
}

TEST_CASE("a count that is one too many runs into the end of the file") {
  GgufBuilder builder;
  builder.text("a", std::string(100, 'x')).counts(std::nullopt, 2);
  const Problem problem = gguf_problem(builder.build().substr(0, builder.tensors_start()));
  CHECK(problem.what == "the file ends within a key");
  CHECK(problem.hint == "the file may be cut short");
}

TEST_CASE("key lengths 0, 65,536 and 2^64-1") {
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{65536}, kHuge}) {
    CAPTURE(length);
    std::string bytes = GgufBuilder().u32(std::string(70000, 'k'), 1).build();
    bytes.replace(GgufBuilder::kKeys, 8, le(length));
    const Problem problem = gguf_problem(bytes);
    CHECK(problem.what == "a key of a length that GGUF does not allow");
    CHECK(problem.offset == GgufBuilder::kKeys);
  }
  CHECK(gguf_problem(GgufBuilder().u32(std::string(65535, 'k'), 1).build()).what ==
        "(nothing was thrown)");
}

TEST_CASE("strings past the end") {
  for (const std::uint64_t length : {std::uint64_t{1000}, kHuge, kHuge - 40}) {
    CAPTURE(length);
    std::string value = le(length);
    value += "short";
    const Problem problem = gguf_problem(GgufBuilder().value("name", gguf::kString, value).build());
    CHECK(problem.what == "a string ends past the end of the file");
    CHECK(problem.field == "key 'name'");
    const Problem in_array =
        gguf_problem(GgufBuilder().array("names", gguf::kString, 1, value).build());
    CHECK(in_array.what == "a string ends past the end of the file");
  }
}

TEST_CASE("keys and names that are not UTF-8") {
  for (const char* bad : {"\xFF", "a\xC0\xAF", "\xED\xA0\x80", "\xE2\x82"}) {
    CHECK(gguf_problem(GgufBuilder().u32(bad, 1).build()).what == "a key that is not UTF-8");
    CHECK(gguf_problem(GgufBuilder().tensor(bad, {1}, gguf::kF32, "1234").build()).what ==
          "a name that is not UTF-8");
  }
}

TEST_CASE("duplicate keys") {
  GgufBuilder builder;
  builder.u32("b", 1).u32("a", 2).text("c", "x");
  const std::uint64_t again = builder.tensors_start();
  const Problem problem = gguf_problem(builder.text("a", "y").u32("d", 3).build());
  CHECK(problem.what == "a key stands twice");
  CHECK(problem.field == "key 'a'");
  CHECK(problem.offset == again);
}

TEST_CASE("value type 13, also of an array's elements") {
  for (const std::uint32_t type : {13u, 255u, UINT32_MAX}) {
    CHECK(gguf_problem(GgufBuilder().value("k", type, "12345678").build()).what ==
          "an unknown value type");
    const Problem problem = gguf_problem(GgufBuilder().array("k", type, 1, "12345678").build());
    CHECK(problem.what == "an unknown value type");
    CHECK(problem.field == "key 'k'");
    CHECK(problem.want == "0 to 12");
  }
}

TEST_CASE("boolean 2, alone and in an array") {
  CHECK(gguf_problem(GgufBuilder().value("k", gguf::kBool, "\x02").build()).what ==
        "a boolean that is neither 0 nor 1");
  std::string many(100'000, '\x01');
  many[99'990] = '\x02';
  GgufBuilder builder;
  const Problem problem = gguf_problem(builder.array("k", gguf::kBool, many.size(), many).build());
  CHECK(problem.what == "a boolean that is neither 0 nor 1");
  CHECK(problem.offset == GgufBuilder::kKeys + 8 + 1 + 4 + 12 + 99'990);
}

TEST_CASE("array count times size that wraps") {
  for (const std::uint32_t type :
       {gguf::kUint64, gguf::kUint32, gguf::kUint8, gguf::kString, gguf::kArray, gguf::kBool}) {
    for (const std::uint64_t count : {std::uint64_t{1} << 61, std::uint64_t{1} << 62, kHuge}) {
      CAPTURE(type);
      const Problem problem =
          gguf_problem(GgufBuilder().array("k", type, count, "0123456789abcdef").build());
      CHECK(problem.what == "more array elements than the file can hold");
    }
  }
}

std::string nested(unsigned depth) {
  std::string bytes;
  for (unsigned i = 1; i < depth; ++i) bytes += GgufBuilder::array_bytes(gguf::kArray, 1, "");
  return bytes + GgufBuilder::array_bytes(gguf::kUint8, 1, "x");
}

TEST_CASE("arrays nested 1,000 deep") {
  for (const unsigned depth : {9u, 1000u, 100'000u}) {
    const Problem problem =
        gguf_problem(GgufBuilder().value("k", gguf::kArray, nested(depth)).build());
    CHECK(problem.what == "arrays nested too deeply");
    CHECK(problem.field == "key 'k'");
  }
  CHECK(gguf_problem(GgufBuilder().value("k", gguf::kArray, nested(8)).build()).what ==
        "(nothing was thrown)");
}

TEST_CASE("alignment 0, 3, 4, 2^31, and of a wrong type") {
  for (const std::uint32_t alignment : {0u, 1u, 3u, 4u, 48u, 1u << 21, 1u << 31, UINT32_MAX}) {
    CAPTURE(alignment);
    const Problem problem = gguf_problem(GgufBuilder().u32("general.alignment", alignment).build());
    CHECK(problem.what == "an alignment that makes no sense");
    CHECK(problem.field == "key 'general.alignment'");
  }
  const Problem problem = gguf_problem(
      GgufBuilder().value("general.alignment", gguf::kUint64, le(std::uint64_t{32})).build());
  CHECK(problem.what == "the alignment has a wrong type");
  CHECK(problem.found == "uint64");
  CHECK(problem.want == "uint32");
}

TEST_CASE("every truncation of a header, and no byte more than it needs is read") {
  GgufBuilder builder;
  builder.text("general.name", "x").u32("n", 7).texts("t", {"a", "bc"});
  builder.tensor("w", {32, 2}, gguf::kQ8_0, std::string(68, 'q'));
  const std::string whole = builder.build();
  for (std::size_t size = 0; size < builder.data_start() + 68; ++size) {
    CAPTURE(size);
    CHECK(gguf_problem(whole.substr(0, size)).what != "(nothing was thrown)");
  }
  for (std::size_t size = builder.data_start() + 68; size <= whole.size(); ++size)
    CHECK(gguf_problem(whole.substr(0, size)).what == "(nothing was thrown)");
}

/// What compared every key with every other would not end within a day.
TEST_CASE("a million keys take linear time") {
  constexpr std::uint64_t kKeys = 1'000'000;
  std::string bytes = "GGUF";
  bytes += le<std::uint32_t>(3);
  bytes += le<std::uint64_t>(0);
  bytes += le(kKeys);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    bytes += gguf_text("key." + std::to_string(i * 7919 % kKeys));
    bytes += le(gguf::kUint32);
    bytes += le<std::uint32_t>(1);
  }
  CHECK(gguf_problem(bytes).what == "(nothing was thrown)");
}

}  // namespace
}  // namespace synps
