#include <doctest/doctest.h>

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "package_paths.h"
#include "synps/builtin_codecs.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_conformance.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

Problem load_problem(const std::string& name, const std::string& path) {
  return thrown_problem([&] { load_codec_package(name, path); });
}

/// The working folder for the time of a test.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::filesystem::path& folder)
      : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  std::filesystem::path before_;
};

}  // namespace

TEST_CASE("a package's codecs say what they are and where they are from") {
  const auto codecs = load_codec_package("q8_row", kQ8Row);
  REQUIRE(codecs.size() == 1);
  const CodecInfo& info = codecs[0]->info();
  CHECK(info.id() == "q8_row:q8_row");
  CHECK(info.file == kQ8Row);
  CHECK(info.revision == 1);
  CHECK(info.bits_per_weight == 8);
  CHECK_FALSE(info.dense);
  CHECK(info.encodes);
  CHECK(info.exact.empty());
}

TEST_CASE("codecs of packages keep the contract") {
  const HostileRule sound("none");
  for (const auto& [name, path] : {std::pair{"q8_row", kQ8Row}, std::pair{"hostile", kHostile}})
    for (const auto& codec : load_codec_package(name, path)) {
      CAPTURE(codec->info().id());
      for (const std::string& fault : check_codec_conformance(*codec)) FAIL_CHECK(fault);
    }
}

TEST_CASE("what is no package is refused with a reason") {
  const TempDir temp;
  const auto check = [](const Problem& problem, const std::string& path, const std::string& what) {
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.file == path);
    CHECK(problem.what == what);
  };
  const std::string missing = temp.file("missing.so");
  check(load_problem("q8_row", missing), missing, "cannot open the codec package");
  const std::string folder = temp.path().string();
  check(load_problem("q8_row", folder), folder, "the codec package is not a file");
  const std::string text = temp.file("text.so");
  write_file(text, "not a shared object at all");
  check(load_problem("q8_row", text), text, "cannot load the codec package");
  const std::string empty = temp.file("empty.so");
  write_file(empty, "");
  check(load_problem("q8_row", empty), empty, "cannot load the codec package");
  check(load_problem("q8_row", kNotAPackage), kNotAPackage,
        "the file is no codec package for this synps");
}

TEST_CASE("paths that name no file are refused with a reason") {
  CHECK(load_problem("q8_row", "").what == "the path of the codec package is empty");
  const Problem cut = load_problem("q8_row", kQ8Row + std::string("\0.no", 4));
  CHECK(cut.code == ErrorCode::package);
  CHECK(cut.what == "the path of the codec package has a NUL in it");
}

TEST_CASE("a name that no package can have is refused before any file is looked for") {
  for (const std::string name : {"", "Q8", "q8:row", "../q8"}) {
    const Problem problem = load_problem(name, "missing.so");
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.what == "no codec package can have that name");
    CHECK(problem.found == "'" + name + "'");
  }
}

TEST_CASE("a shared object that is cut short is refused, wherever it is cut") {
  const TempDir temp;
  const std::string whole = read_file(kQ8Row);
  bool cut_short = false;
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40) {
    CAPTURE(size);
    const std::string path = temp.file("cut" + std::to_string(size) + ".so");
    write_file(path, whole.substr(0, size));
    try {
      load_codec_package("q8_row", path);
      CHECK(size > whole.size() / 3);  // what is missing is for debuggers
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::package);
      cut_short |= error.problems().front().what == "the codec package is cut short";
    }
  }
  CHECK(cut_short);
}

TEST_CASE("a package goes by its own name only") {
  const Problem problem = load_problem("q8", kQ8Row);
  CHECK(problem.code == ErrorCode::package);
  CHECK(problem.what == "the codec package has another name");
  CHECK(problem.found == "'q8_row'");
  CHECK(problem.want == "'q8'");
  CHECK(problem.hint.find("load it as q8_row") == 0);
}

TEST_CASE("a path without a slash is a file of the working folder") {
  const TempDir temp;
  std::filesystem::create_symlink(kQ8Row, temp.path() / "q8_row.so");
  const WorkingFolder inside(temp.path());
  CHECK(load_codec_package("q8_row", "q8_row.so").size() == 1);
  // A library that the dynamic linker would find by this name.
  CHECK(load_problem("m", "libm.so.6").what == "cannot open the codec package");
}

TEST_CASE("a registry has one package of a name") {
  CodecRegistry registry = make_builtin_registry();
  add_codec_package(registry, "q8_row", kQ8Row);
  CHECK(registry.resolve("q8_row") == registry.find("q8_row", "q8_row"));
  const Problem again = thrown_problem([&] { add_codec_package(registry, "q8_row", kQ8Row); });
  CHECK(again.code == ErrorCode::package);
  CHECK(again.what == "there is a codec package 'q8_row' already");
  CHECK(again.found == kQ8Row);
  const Problem builtin = thrown_problem([&] { add_codec_package(registry, "q8_0", kQ8Row); });
  CHECK(builtin.what == "there is a codec package 'q8_0' already");
  CHECK(builtin.found == "one that is built in");
}

TEST_CASE("two packages may export one name, which then has to be qualified") {
  CodecRegistry registry = make_builtin_registry();
  add_codec_package(registry, "left", kLeft);
  add_codec_package(registry, "right", kRight);
  CHECK(registry.resolve("q8_row") == nullptr);
  CHECK(registry.suggestions("q8_row") == std::vector<std::string>{"left:q8_row", "right:q8_row"});
  REQUIRE(registry.resolve("left:q8_row") != nullptr);
  CHECK(registry.resolve("left:q8_row") != registry.resolve("right:q8_row"));
  // The short name is the export of the package of that name, whoever else exports it.
  add_codec_package(registry, "q8_row", kQ8Row);
  REQUIRE(registry.resolve("q8_row") != nullptr);
  CHECK(registry.resolve("q8_row")->info().id() == "q8_row:q8_row");
}

TEST_CASE("codecs outlive the registry they were loaded for") {
  std::shared_ptr<const Codec> codec = load_codec_package("q8_row", kQ8Row).front();
  const Weight weight = make_weight({2, 64});
  const std::vector<float> values = finite_values(128, 1);
  CHECK(round_trip(*codec, weight, values).size() == 128);
}

}  // namespace synps::testing
