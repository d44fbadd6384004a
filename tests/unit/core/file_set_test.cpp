// Files that appear together, or not at all.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "faulty_os.h"
#include "synps/file_set.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;
using Call = FaultyOs::Call;

namespace {

constexpr const char* kNames[] = {"a", "b", "index"};

void write_text(AtomicFile& file, std::string_view text) {
  file.write(0, std::as_bytes(std::span(text)));
}

/// Writes a and b, and their index last.
void make_set(Os& os, const TempDir& dir, bool replace) {
  AtomicFile::Options options;
  options.replace = replace;
  AtomicFileSet set(os, dir.file("index"), options);
  for (const char* name : {"a", "b"})
    write_text(set.next(dir.file(name)), std::string("new ") + name);
  write_text(set.leader(), "new index");
  set.commit();
}

void write_earlier(const TempDir& dir) {
  for (const std::string name : kNames) write_file(dir.file(name), "old " + name);
}

std::vector<std::string> with_content(const TempDir& dir, const std::string& start) {
  std::vector<std::string> found;
  for (const std::string& name : dir.list())
    if (read_file(dir.file(name)) == start + " " + name) found.push_back(name);
  return found;
}

const std::vector<std::string> kAll = {"a", "b", "index"};

}  // namespace

TEST_CASE("a committed set is there, and nothing else") {
  const TempDir dir;
  make_set(Os::posix(), dir, false);
  CHECK(dir.list() == kAll);
  CHECK(with_content(dir, "new") == kAll);
}

TEST_CASE("without commit there is nothing") {
  const TempDir dir;
  {
    AtomicFileSet set(Os::posix(), dir.file("index"), {});
    write_text(set.next(dir.file("a")), "a");
    write_text(set.next(dir.file("b")), "b");
    CHECK(dir.list().size() == 3);
    for (const std::string& name : dir.list()) CHECK(name.ends_with(".synps-tmp"));
  }
  CHECK(dir.list().empty());
}

TEST_CASE("a file that exists needs replace, whichever it is") {
  for (const std::string name : kNames) {
    const TempDir dir;
    write_file(dir.file(name), "old " + name);
    CHECK(thrown_problem([&] { make_set(Os::posix(), dir, false); }).code == ErrorCode::output);
    CHECK(dir.list() == std::vector<std::string>{name});
    CHECK(with_content(dir, "old") == std::vector<std::string>{name});
    make_set(Os::posix(), dir, true);
    CHECK(with_content(dir, "new") == kAll);
  }
}

TEST_CASE("a file that appears meanwhile takes back the names given before") {
  const TempDir dir;
  AtomicFileSet set(Os::posix(), dir.file("index"), {});
  write_text(set.next(dir.file("a")), "new a");
  write_text(set.next(dir.file("b")), "new b");
  write_file(dir.file("index"), "old index");
  CHECK(thrown_problem([&] { set.commit(); }).code == ErrorCode::output);
  CHECK_FALSE(std::filesystem::exists(dir.file("a")));
  CHECK_FALSE(std::filesystem::exists(dir.file("b")));
  CHECK(read_file(dir.file("index")) == "old index");
}

TEST_CASE("a fault at any call leaves all of a new set, or none of it") {
  for (const Call call : FaultyOs::all_calls())
    for (FaultyOs::Fault fault{call, 1, -EIO};; ++fault.at) {
      CAPTURE(FaultyOs::name(call));
      CAPTURE(fault.at);
      const TempDir dir;
      FaultyOs os(fault);
      const auto problems = thrown_problems([&] { make_set(os, dir, false); });
      const bool done = !os.triggered();
      if (done) CHECK(problems.empty());
      for (const Problem& problem : problems) CHECK(problem.code == ErrorCode::io);
      const std::vector<std::string> left = dir.list();
      const bool all_or_none = left == kAll || left.empty();
      CHECK(all_or_none);
      if (problems.empty()) CHECK(with_content(dir, "new") == kAll);
      if (done) break;
    }
}

TEST_CASE(
    "where earlier files were replaced the error names them, and the others are the old ones") {
  for (std::uint64_t at = 1; at <= 3; ++at) {
    CAPTURE(at);
    const TempDir dir;
    write_earlier(dir);
    FaultyOs os({Call::rename, at, -EIO});
    const auto problems = thrown_problems([&] { make_set(os, dir, true); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::io);
    CHECK(dir.list() == kAll);
    const auto before = static_cast<std::ptrdiff_t>(at - 1);
    CHECK(with_content(dir, "new") == std::vector(kAll.begin(), kAll.begin() + before));
    CHECK(with_content(dir, "old") == std::vector(kAll.begin() + before, kAll.end()));
    for (const std::string name : kNames) {
      const bool named = problems[0].hint.find("'" + dir.file(name) + "'") != std::string::npos;
      const bool replaced = with_content(dir, "new").size() == 2 ? name != "index" : name == "a";
      CHECK(named == (at > 1 && replaced));
    }
  }
}

TEST_CASE("of old and new files only the new ones are taken back") {
  const TempDir dir;
  write_file(dir.file("b"), "old b");
  FaultyOs os({Call::rename, 3, -EIO});
  const auto problems = thrown_problems([&] { make_set(os, dir, true); });
  REQUIRE(problems.size() == 1);
  CHECK(dir.list() == std::vector<std::string>{"b"});
  CHECK(read_file(dir.file("b")) == "new b");
  CHECK(problems[0].hint == "new already, and complete: '" + dir.file("b") + "'");
}

TEST_CASE("two runs do not write one set at a time") {
  const TempDir dir;
  AtomicFileSet first(Os::posix(), dir.file("index"), {});
  const Problem busy = thrown_problem([&] { AtomicFileSet(Os::posix(), dir.file("index"), {}); });
  CHECK(busy.code == ErrorCode::output);
  CHECK(busy.what == "another process is writing this output");
}

TEST_CASE("a temporary is reclaimed when nobody writes it") {
  const TempDir dir;
  write_file(AtomicFile::temporary_of(dir.file("left")), "half");
  AtomicFile::reclaim(Os::posix(), dir.file("left"));
  CHECK(dir.list().empty());
  AtomicFile::reclaim(Os::posix(), dir.file("none"));
  {
    AtomicFile busy(Os::posix(), dir.file("busy"), {});
    AtomicFile::reclaim(Os::posix(), dir.file("busy"));
    CHECK(dir.list().size() == 1);
    busy.commit();
  }
  CHECK(dir.list() == std::vector<std::string>{"busy"});
  std::filesystem::create_directory(AtomicFile::temporary_of(dir.file("folder")));
  AtomicFile::reclaim(Os::posix(), dir.file("folder"));
  CHECK(dir.list().size() == 2);
}
