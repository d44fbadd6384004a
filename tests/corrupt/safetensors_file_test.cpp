// Files whose length field, size or first bytes are wrong.
#include <doctest/doctest.h>

#include <filesystem>

#include <sys/stat.h>

#include "safetensors_builder.h"
#include "synps/safetensors.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

SafetensorsHeader read_header(const std::string& path) {
  return read_safetensors_header(InputFile(Os::posix(), path));
}

/// The problem that a file of these bytes gives. It names the file, whatever is wrong.
Problem problem_of(std::string_view bytes) {
  const TempDir dir;
  const std::string path = dir.file("model.safetensors");
  write_file(path, bytes);
  Problem problem = thrown_problem([&] { read_header(path); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.file == path);
  return problem;
}

const std::string kHeader = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";

}  // namespace

TEST_CASE("file of 0 to 7 bytes") {
  for (std::size_t size = 0; size < 8; ++size) {
    CAPTURE(size);
    const Problem problem = problem_of(std::string(size, '\0'));
    CHECK(problem.what == "the file is too short for safetensors");
    CHECK(problem.found == std::to_string(size) + " bytes");
    CHECK(problem.offset == 0);
  }
}

TEST_CASE("header length 0") {
  const Problem problem = problem_of(raw_safetensors(""));
  CHECK(problem.what == "the header is empty");
  CHECK(problem.offset == 8);
}

TEST_CASE("header length past the end of the file") {
  const Problem problem = problem_of(raw_safetensors_of_length(kHeader.size() + 3, kHeader, "ab"));
  CHECK(problem.what == "the header ends past the end of the file");
  CHECK(problem.field == "header length");
  CHECK(problem.found == std::to_string(kHeader.size() + 3) + " bytes");
  CHECK(problem.want == "at most " + std::to_string(kHeader.size() + 2));
}

TEST_CASE("header length 2^64-1") {
  const Problem problem = problem_of(raw_safetensors_of_length(~std::uint64_t{0}, kHeader));
  CHECK(problem.what == "the header is longer than safetensors allows");
  CHECK(problem.found == "18446744073709551615 bytes");
}

TEST_CASE("header length of 100,000,001, in a file that is large enough") {
  const TempDir dir;
  const std::string path = dir.file("model.safetensors");
  write_file(path, raw_safetensors_of_length(100'000'001, "{}"));
  std::filesystem::resize_file(path, 100'000'009);  // a hole, no disk space
  const Problem problem = thrown_problem([&] { read_header(path); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.what == "the header is longer than safetensors allows");
  CHECK(problem.want == "at most 100000000");
}

TEST_CASE("byte order mark before the header") {
  const Problem problem = problem_of(raw_safetensors("\xEF\xBB\xBF{}"));
  CHECK(problem.what == "the header begins with a byte order mark");
  CHECK(problem.offset == 8);
}

TEST_CASE("header that does not begin with a brace") {
  CHECK(problem_of(raw_safetensors(" {}")).what == "the header does not begin with '{'");
  CHECK(problem_of(raw_safetensors("[{}]")).found == "'['");
  CHECK(problem_of(raw_safetensors("null")).found == "'n'");
}

TEST_CASE("NUL bytes after the JSON") {
  const Problem problem = problem_of(raw_safetensors(std::string("{}  \0\0", 6)));
  CHECK(problem.what == "NUL bytes follow the JSON of the header");
  CHECK(problem.offset == 8 + 2);
}

TEST_CASE("text after the JSON") {
  CHECK(problem_of(raw_safetensors("{}x")).what == "the header does not end with '}'");
  const Problem problem = problem_of(raw_safetensors("{} {}"));
  CHECK(problem.what == "text follows the JSON of the header");
  CHECK(problem.offset == 8 + 3);
  CHECK(problem_of(raw_safetensors("{}}")).what == "text follows the JSON of the header");
}

TEST_CASE("invalid UTF-8 in the header") {
  const auto header_named = [](std::string_view name) {
    return "{\"" + std::string(name) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  };
  const std::string_view invalid[] = {"\xFF",     "\x80",         "\xC0\xAF",
                                      "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80"};
  for (const std::string_view bytes : invalid) {
    const Problem problem = problem_of(raw_safetensors(header_named("é" + std::string(bytes))));
    CHECK(problem.what == "the header is not valid UTF-8");
    CHECK(problem.offset == 8 + 2 + 2);
  }
}

TEST_CASE("file cut short by one byte") {
  const Problem problem = problem_of(raw_safetensors(kHeader, "a"));
  CHECK(problem.what == "the file ends before its tensors do");
  CHECK(problem.field == "tensor 'a', data_offsets");
  CHECK(problem.found == "1 bytes of data");
  CHECK(problem.want == "2 bytes");
}

TEST_CASE("file with one byte too many") {
  const Problem problem = problem_of(raw_safetensors(kHeader, "abc"));
  CHECK(problem.what == "bytes follow the last tensor");
  CHECK(problem.found == "3 bytes of data");
  CHECK(problem.want == "2 bytes");
  CHECK(problem_of(raw_safetensors("{}", "a")).what == "bytes follow the last tensor");
}

TEST_CASE("git-lfs pointer instead of the file") {
  const Problem problem = problem_of(
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21463\nsize 5283102\n");
  CHECK(problem.found == "a git-lfs pointer, not the file itself");
  CHECK(problem.hint == "fetch the file with `git lfs pull`");
}

TEST_CASE("GGUF file under the name of a safetensors file") {
  const Problem problem = problem_of(std::string("GGUF\x03\0\0\0\x02\0\0\0", 12));
  CHECK(problem.found == "a GGUF file");
}

TEST_CASE("pickles, zipped and bare") {
  CHECK(problem_of(std::string("PK\x03\x04\0\0\x08\x08\0\0", 10)).found ==
        "a zip archive, as PyTorch saves pickles");
  CHECK(problem_of("\x80\x02\x8a\nl\xfc\x9c\x46\xf9").found == "a Python pickle");
}

TEST_CASE("a directory, a FIFO and a device are no checkpoint and never block") {
  const TempDir dir;
  const std::string fifo = dir.file("fifo.safetensors");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path : {dir.path().string(), fifo, std::string("/dev/null")}) {
    CAPTURE(path);
    const Problem problem = thrown_problem([&] { read_header(path); });
    CHECK(problem.code == ErrorCode::checkpoint);
    CHECK(problem.file == path);
    CHECK(problem.want == "a regular file");
  }
}

TEST_CASE("a file that is not there") {
  const TempDir dir;
  const Problem problem = thrown_problem([&] { read_header(dir.file("none")); });
  CHECK(problem.code == ErrorCode::io);
  CHECK(problem.file == dir.file("none"));
}
