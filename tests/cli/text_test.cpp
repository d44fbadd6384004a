#include "text.h"

#include <doctest/doctest.h>

#include <cstdint>

#include "table.h"

namespace synps::cli {

TEST_CASE("digits are grouped by three") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(UINT64_MAX) == "18,446,744,073,709,551,615");
}

TEST_CASE("sizes in units people read") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.00 KiB");
  CHECK(human_bytes(10 * 1024) == "10.0 KiB");
  CHECK(human_bytes(639 * 1024) == "639 KiB");
  CHECK(human_bytes((1u << 20) - 1) == "1.00 MiB");
  CHECK(human_bytes(UINT64_MAX) == "16.0 EiB");
  CHECK(exact_bytes(1) == "1 byte");
  CHECK(exact_bytes(512) == "512 bytes");
  CHECK(exact_bytes(1234567) == "1,234,567 bytes (1.18 MiB)");
}

TEST_CASE("ratios of nothing are no numbers") {
  CHECK(percent(1, 0) == "-");
  CHECK(percent(17, 32) == "53.1%");
  CHECK(bits_each(34, 32) == "8.50");
  CHECK(bits_each(0, 0) == "-");
  CHECK(counted(1, "weight") == "1 weight");
  CHECK(counted(1200, "weight") == "1,200 weights");
}

TEST_CASE("text breaks at spaces, and never inside a word") {
  CHECK(wrapped("one two three", 7, 2) == "one two\n  three");
  CHECK(wrapped("one two three four", 8, 4) == "one two\n    three\n    four");
  CHECK(wrapped("one two", 8, 4, 4) == "one\n    two");
  CHECK(wrapped("incomprehensible", 4, 2) == "incomprehensible");
  CHECK(wrapped("a incomprehensible b", 4, 1) == "a\n incomprehensible\n b");
  CHECK(wrapped("", 4, 1).empty());
  CHECK(display_width("a\xC3\xA4") == 2);
}

TEST_CASE("a table lines its columns up") {
  using enum Table::Align;
  Table table({{"NAME", left}, {"N", right}});
  table.add({"a", "1"});
  table.add({"long", "1,000"});
  CHECK(table.render(100) ==
        "NAME      N\n"
        "a         1\n"
        "long  1,000\n");
}

TEST_CASE("a first cell too long for its column gets a line of its own") {
  using enum Table::Align;
  Table table({{"NAME", left}, {"N", right}});
  table.add({"a_name_of_more_than_twenty_columns", "1"});
  table.add({"short", "2"});
  CHECK(table.render(23) ==
        "NAME                  N\n"
        "a_name_of_more_than_twenty_columns\n"
        "                      1\n"
        "short                 2\n");
}

TEST_CASE("a last column of text breaks into lines") {
  using enum Table::Align;
  Table table({{"K", left}, {"TEXT", left}});
  table.add({"k", "one two three four five six seven"});
  CHECK(table.render(24) ==
        "K  TEXT\n"
        "k  one two three four\n"
        "   five six seven\n");
}

}  // namespace synps::cli
