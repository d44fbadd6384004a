#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "synps/file.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::read_file;
using testing::TempDir;
using testing::write_file;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

ErrorCode code_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK_FALSE(std::string(error.what()).empty());
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::usage;
}

void make(const std::string& path, std::string_view text, AtomicFile::Options options = {}) {
  AtomicFile file(Os::posix(), path, std::move(options));
  file.allocate(text.size());
  file.write(0, bytes_of(text));
  file.commit();
}

TEST_CASE("an input must be a regular file") {
  TempDir dir;
  CHECK(code_of([&] { InputFile(Os::posix(), dir.file("none")); }) == ErrorCode::io);
  CHECK(code_of([&] { InputFile(Os::posix(), dir.path().string()); }) == ErrorCode::checkpoint);
  REQUIRE(mkfifo(dir.file("fifo").c_str(), 0600) == 0);
  CHECK(code_of([&] { InputFile(Os::posix(), dir.file("fifo")); }) == ErrorCode::checkpoint);
  CHECK(code_of([&] { InputFile(Os::posix(), "/dev/null", ErrorCode::artifact); }) ==
        ErrorCode::artifact);
}

TEST_CASE("an input reads any range and knows its end") {
  TempDir dir;
  write_file(dir.file("in"), "hello world");
  const InputFile file(Os::posix(), dir.file("in"));
  CHECK(file.size() == 11);
  std::string part(5, ' ');
  file.read(6, std::as_writable_bytes(std::span(part)));
  CHECK(part == "world");
  CHECK(code_of([&] { file.read(7, std::as_writable_bytes(std::span(part))); }) == ErrorCode::io);
  const Mapping mapping(file);
  CHECK(mapping.bytes().size() == 11);
  CHECK(mapping.bytes()[4] == std::byte{'o'});
  file.check_unchanged();
  write_file(dir.file("in"), "hello world, changed");
  CHECK(code_of([&] { file.check_unchanged(); }) == ErrorCode::checkpoint);
}

TEST_CASE("an empty file maps to nothing") {
  TempDir dir;
  write_file(dir.file("in"), "");
  const InputFile file(Os::posix(), dir.file("in"));
  CHECK(Mapping(file).bytes().empty());
}

TEST_CASE("an output appears when it is committed, and only then") {
  TempDir dir;
  {
    AtomicFile file(Os::posix(), dir.file("out"), {});
    file.allocate(5);
    file.write(0, bytes_of("abc"));
    CHECK_FALSE(std::filesystem::exists(dir.file("out")));
    std::string back(5, ' ');
    file.read(0, std::as_writable_bytes(std::span(back)));
    CHECK(back == std::string("abc\0\0", 5));
  }
  CHECK(dir.list().empty());
  make(dir.file("out"), "hello");
  CHECK(read_file(dir.file("out")) == "hello");
  CHECK(dir.list() == std::vector<std::string>{"out"});
}

TEST_CASE("an existing output is replaced on request only") {
  TempDir dir;
  write_file(dir.file("out"), "old");
  CHECK(code_of([&] { make(dir.file("out"), "new"); }) == ErrorCode::output);
  CHECK(read_file(dir.file("out")) == "old");
  make(dir.file("out"), "new", {.replace = true});
  CHECK(read_file(dir.file("out")) == "new");
}

TEST_CASE("an output that appears meanwhile is not replaced") {
  TempDir dir;
  AtomicFile file(Os::posix(), dir.file("out"), {});
  write_file(dir.file("out"), "other");
  CHECK(code_of([&] { file.commit(); }) == ErrorCode::output);
  CHECK(read_file(dir.file("out")) == "other");
}

TEST_CASE("an input is never overwritten, by any name") {
  TempDir dir;
  write_file(dir.file("in"), "precious");
  const InputFile input(Os::posix(), dir.file("in"));
  std::filesystem::create_hard_link(dir.file("in"), dir.file("hard"));
  std::filesystem::create_symlink(dir.file("in"), dir.file("soft"));
  std::filesystem::create_directory(dir.file("sub"));
  for (const std::string name : {"in", "hard", "soft", "sub/../in"}) {
    CAPTURE(name);
    const AtomicFile::Options options{.replace = true, .inputs = {input.identity()}};
    CHECK(code_of([&] { make(dir.file(name), "new", options); }) == ErrorCode::output);
  }
  CHECK(read_file(dir.file("in")) == "precious");
  // Not even where an input has the name of the temporary.
  std::filesystem::create_hard_link(dir.file("in"), dir.file(".out.synps-tmp"));
  CHECK(code_of([&] { make(dir.file("out"), "new", {.inputs = {input.identity()}}); }) ==
        ErrorCode::output);
  CHECK(read_file(dir.file("in")) == "precious");
  CHECK(std::filesystem::exists(dir.file(".out.synps-tmp")));
}

TEST_CASE("outputs that are no regular files are refused") {
  TempDir dir;
  REQUIRE(mkfifo(dir.file("fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink("nowhere", dir.file("dangling"));
  for (const std::string& path : {dir.file("fifo"), dir.file("dangling"), dir.path().string(),
                                  std::string("/dev/null"), dir.file("")}) {
    CAPTURE(path);
    CHECK(code_of([&] { make(path, "x", {.replace = true}); }) == ErrorCode::output);
  }
  CHECK(code_of([&] { make(dir.file("no/such/out"), "x"); }) == ErrorCode::io);
  CHECK(code_of([&] { make(dir.file("fifo") + "/out", "x"); }) == ErrorCode::io);
}

TEST_CASE("a temporary that a killed run left is taken over") {
  TempDir dir;
  write_file(dir.file(".out.synps-tmp"), std::string(100000, 'x'));
  make(dir.file("out"), "short");
  CHECK(read_file(dir.file("out")) == "short");
  CHECK(dir.list() == std::vector<std::string>{"out"});
}

TEST_CASE("a temporary that was left gets this run's mode") {
  TempDir dir;
  write_file(dir.file(".out.synps-tmp"), "old");
  REQUIRE(chmod(dir.file(".out.synps-tmp").c_str(), 0600) == 0);
  const mode_t before = umask(022);
  make(dir.file("out"), "x");
  umask(before);
  struct stat status {};
  REQUIRE(stat(dir.file("out").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
}

TEST_CASE("a temporary's name that is a symbolic link is left alone") {
  TempDir dir;
  write_file(dir.file("precious"), "precious");
  std::filesystem::create_symlink("precious", dir.file(".out.synps-tmp"));
  CHECK(code_of([&] { make(dir.file("out"), "x"); }) == ErrorCode::output);
  CHECK(read_file(dir.file("precious")) == "precious");
}

/// Fails one call on the temporary: looking at it, or locking it.
class FailingOs : public Os {
 public:
  explicit FailingOs(bool fail_lock) : fail_lock_(fail_lock) {}
  using Os::status;
  int status(int descriptor, FileStatus& status) override {
    return fail_lock_ ? Os::status(descriptor, status) : -EIO;
  }
  int lock(int /*descriptor*/) override { return -ENOLCK; }

 private:
  bool fail_lock_;
};

TEST_CASE("a temporary that cannot be locked or looked at is not left behind") {
  for (const bool fail_lock : {false, true}) {
    TempDir dir;
    FailingOs os(fail_lock);
    CHECK(code_of([&] { AtomicFile(os, dir.file("out"), {}); }) == ErrorCode::io);
    CHECK(dir.list().empty());
  }
}

TEST_CASE("two writers of one output: the second is told") {
  TempDir dir;
  AtomicFile first(Os::posix(), dir.file("out"), {});
  CHECK(code_of([&] { AtomicFile(Os::posix(), dir.file("out"), {}); }) == ErrorCode::output);
  first.commit();
  CHECK(dir.list() == std::vector<std::string>{"out"});
}

TEST_CASE("umask is honoured") {
  TempDir dir;
  const mode_t before = umask(027);
  make(dir.file("out"), "x");
  umask(before);
  struct stat status {};
  REQUIRE(stat(dir.file("out").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("names up to the file system's limit work") {
  TempDir dir;
  const std::string name(255, 'n');
  make(dir.file(name), "x");
  CHECK(dir.list() == std::vector<std::string>{name});
}

}  // namespace

TEST_CASE("the disk is told to begin now and then, and its refusal does not matter") {
  struct CountingOs final : Os {
    int start_sync(int) override {
      ++starts;
      return -EINVAL;
    }
    int starts = 0;
  } os;
  const TempDir dir;
  const std::string path = dir.file("out");
  const std::vector<std::byte> bytes(1 << 20, std::byte{7});
  AtomicFile file(os, path, {});
  for (std::uint64_t i = 0; i < 70; ++i) file.write(i << 20, bytes);
  CHECK(os.starts == 2);
  file.commit();
  CHECK(std::filesystem::file_size(path) == 70u << 20);
}

}  // namespace synps
