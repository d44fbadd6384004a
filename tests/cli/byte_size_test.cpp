#include "byte_size.h"

#include <doctest/doctest.h>

namespace synps::cli {

TEST_CASE("sizes in bytes, and in units of 1024 and 1000") {
  CHECK(parse_byte_size("0") == 0);
  CHECK(parse_byte_size("4096") == 4096);
  CHECK(parse_byte_size("4096B") == 4096);
  CHECK(parse_byte_size("64KiB") == 65536);
  CHECK(parse_byte_size("64KB") == 64000);
  CHECK(parse_byte_size("3MiB") == 3u << 20);
  CHECK(parse_byte_size("3 MB") == 3'000'000);
  CHECK(parse_byte_size("2gib") == std::uint64_t{2} << 30);
  CHECK(parse_byte_size("2Gb") == 2'000'000'000);
  CHECK(parse_byte_size("1TiB") == std::uint64_t{1} << 40);
  CHECK(parse_byte_size("1TB") == 1'000'000'000'000);
  CHECK(parse_byte_size("18446744073709551615") == ~std::uint64_t{0});
}

TEST_CASE("what is no size") {
  for (const char* text :
       {"", " ", "MiB", "-1", "+1", "1.5GiB", "1 ", "1  MiB", " 1", "1MiBs", "1M", "0x10", "1e6",
        "18446744073709551616", "16777216TiB", "1\xC2\xB5", "1 KiB "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_byte_size(text));
  }
  CHECK(byte_size_fault("1KiB").empty());
  CHECK(byte_size_fault("0") == "'0' is not a size above 0, such as 500000000, 512MiB or 2GB");
  CHECK_FALSE(byte_size_fault("1M").empty());
  CHECK(byte_count_fault("0").empty());
  CHECK(byte_count_fault("1M") == "'1M' is not a size, such as 500000000, 512MiB or 2GB");
}

}  // namespace synps::cli
