#include "synps/gguf_types.h"
#include "synps/output_kind.h"

#include <doctest/doctest.h>

#include <limits>
#include <set>

namespace synps {
namespace {

TEST_CASE("GGUF types are found by the number that a file holds") {
  std::uint32_t number = 0;
  std::set<std::string_view> names;
  for (const GgufType& type : all_gguf_types()) {
    CAPTURE(type.name);
    CHECK(type.number == number);
    CHECK(find_gguf_type(number) == &type);
    CHECK(names.insert(type.name).second);
    ++number;
  }
  CHECK(number == 43);
  CHECK(find_gguf_type(number) == nullptr);
  CHECK(find_gguf_type(std::numeric_limits<std::uint32_t>::max()) == nullptr);
  CHECK(find_gguf_type(12)->name == "Q4_K");
  CHECK(find_gguf_type(29)->name == "IQ1_M");
  CHECK(find_gguf_type(39)->name == "MXFP4");
}

TEST_CASE("a GGUF file is known by the end of its name, in capitals or not") {
  for (const char* name : {"m.gguf", "m.GGUF", "a/m.Gguf", ".gguf"})
    CHECK(output_kind_of_path(name) == OutputKind::gguf);
  for (const char* name : {"", "gguf", "m.ggu", "m.gguf.synps", "m-gguf", "m.gguf/x"})
    CHECK(output_kind_of_path(name) == OutputKind::artifact);
}

TEST_CASE("GGUF types say what their blocks take") {
  const auto bytes = [](std::uint32_t number, std::uint64_t elements) {
    return find_gguf_type(number)->bytes(elements);
  };
  CHECK(bytes(0, 3) == 12);
  CHECK(bytes(12, 512) == 288);
  CHECK(bytes(12, 0) == 0);
  CHECK(bytes(39, 64) == 34);
  CHECK_FALSE(bytes(12, 128));  // half a block
  CHECK_FALSE(bytes(28, std::uint64_t{1} << 61));
}

TEST_CASE("GGUF types that were removed have a name and no size") {
  for (const std::uint32_t number : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
    const GgufType& type = *find_gguf_type(number);
    CAPTURE(type.name);
    CHECK(type.removed);
    CHECK(type.codec.empty());
    CHECK_FALSE(type.bytes(256));
    CHECK_FALSE(type.bytes(0));
  }
}

TEST_CASE("plain GGUF types have the size of their dtype") {
  for (const GgufType& type : all_gguf_types()) {
    CAPTURE(type.name);
    CHECK(type.dtype.has_value() == (type.block_elements == 1));
    if (!type.dtype) continue;
    CHECK(type.block_bytes * 8 == dtype_bits(*type.dtype));
    CHECK(type.name == dtype_name(*type.dtype));
  }
}

TEST_CASE("the GGUF type of a codec is the one whose blocks it stores") {
  CHECK(gguf_type_of_codec("q8_0:q8_0") == find_gguf_type(8));
  CHECK(gguf_type_of_codec("ternary:tq2_0") == find_gguf_type(35));
  CHECK(gguf_type_of_codec("ternary:planes") == nullptr);
  CHECK(gguf_type_of_codec("") == nullptr);
}

}  // namespace
}  // namespace synps
