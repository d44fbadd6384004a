#include "synps/error.h"

#include <doctest/doctest.h>

namespace synps {
namespace {

TEST_CASE("an error line has its parts in the documented sequence") {
  CHECK(to_string(Problem{.code = ErrorCode::checkpoint,
                          .file = "m.safetensors",
                          .what = "the tensor's size is wrong",
                          .field = "a.weight.data_offsets",
                          .offset = 8,
                          .found = "4 bytes",
                          .want = "8 bytes",
                          .hint = "copy the file again"}) ==
        "m.safetensors: the tensor's size is wrong (a.weight.data_offsets, offset 8): "
        "found 4 bytes, want 8 bytes; copy the file again");
  CHECK(to_string(Problem{.file = "synps.toml", .what = "unknown key", .line = 3, .column = 7}) ==
        "synps.toml:3:7: unknown key");
  CHECK(to_string(Problem{.what = "no", .want = "yes"}) == "no: want yes");
}

TEST_CASE("text that could disturb a terminal is escaped") {
  CHECK(escape_for_display("a\x1b[31m") == "a\\x1b[31m");
  CHECK(escape_for_display(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(escape_for_display("tab\tline\n") == "tab\\x09line\\x0a");
  CHECK(escape_for_display("\x7f") == "\\x7f");
  CHECK(escape_for_display("\xc2\x85") == "\\u{85}");              // a C1 control
  CHECK(escape_for_display("\xe2\x80\xae") == "\\u{202e}");        // right-to-left override
  CHECK(escape_for_display("\xff\xc3") == "\\xff\\xc3");           // not UTF-8
  CHECK(escape_for_display("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(escape_for_display("größe 重み") == "größe 重み");
}

TEST_CASE("quotes cut long text at code points") {
  CHECK(quote("abc") == "'abc'");
  CHECK(quote("ééé", 2) == "'éé…'");
  CHECK(quote(std::string(1000, 'x')).size() < 130);
}

TEST_CASE("an error holds all its problems") {
  const Error error(std::vector<Problem>{{.code = ErrorCode::policy, .what = "one"},
                                         {.code = ErrorCode::policy, .what = "two"}});
  CHECK(error.code() == ErrorCode::policy);
  CHECK(error.problems().size() == 2);
  CHECK(std::string(error.what()) == "one\ntwo");
}

}  // namespace
}  // namespace synps
