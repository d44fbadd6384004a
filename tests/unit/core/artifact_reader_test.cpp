#include <doctest/doctest.h>
#include <fmt/format.h>

#include "artifact_samples.h"
#include "synps/artifact_reader.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::read_file;
using testing::sample_bytes;
using testing::small_contents;
using testing::TempDir;
using testing::write_artifact;
using testing::write_file;

TEST_CASE("what was written is read back") {
  TempDir dir;
  const ArtifactLayout layout = write_artifact(dir.file("a.synps"), small_contents());
  CHECK(read_file(dir.file("a.synps")).size() == layout.file_bytes);
  const ArtifactReader reader(dir.file("a.synps"));
  CHECK(ArtifactReader::recognises(dir.file("a.synps")));
  CHECK(reader.check_all().empty());
  CHECK(reader.source_metadata() ==
        std::map<std::string, std::string>{{"format", "pt"}, {"note", "quote \" and é"}});
  for (std::size_t w = 0; w < reader.index().weights.size(); ++w) {
    const StoredWeight& weight = reader.index().weights[w];
    CHECK(reader.find(weight.weight.path) == &weight);
    for (std::size_t c = 0; c < weight.components.size(); ++c) {
      const StoredComponent& stored = weight.components[c];
      const auto expected = sample_bytes(stored.component.bytes, static_cast<unsigned>(10 * w + c));
      const auto found = reader.bytes(stored);
      CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
      for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk)
        CHECK_NOTHROW(reader.check_chunk(weight, stored, chunk));
      std::vector<std::byte> buffer(7);
      for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk)
        CHECK_NOTHROW(reader.read_and_check_chunk(weight, stored, chunk, buffer));
    }
  }
  CHECK(reader.find("no such weight") == nullptr);
}

TEST_CASE("digests told by the writer's caller equal those read back") {
  TempDir dir;
  write_artifact(dir.file("a"), small_contents());
  const ArtifactLayout layout = lay_out(small_contents(), testing::HalfByteRows());
  AtomicFile file(Os::posix(), dir.file("b"), {});
  ArtifactWriter writer(file, layout);
  for (std::size_t w = 0; w < layout.index.weights.size(); ++w)
    for (std::size_t c = 0; c < layout.index.weights[w].components.size(); ++c) {
      const StoredComponent& stored = layout.index.weights[w].components[c];
      auto bytes = sample_bytes(stored.component.bytes, static_cast<unsigned>(10 * w + c));
      writer.write(w, c, 0, bytes);
      if (stored.chunks() != 1) continue;
      bytes.resize(stored.stored_bytes);
      writer.set_digest(w, c, 0, xxh3_128(bytes));
    }
  writer.finish();
  file.commit();
  CHECK(read_file(dir.file("a")) == read_file(dir.file("b")));
}

TEST_CASE("plain safetensors and other files are not artifacts") {
  TempDir dir;
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string text(8, '\0');
  text[0] = static_cast<char>(header.size());
  write_file(dir.file("plain"), text + header + "x");
  for (const std::string& content :
       {read_file(dir.file("plain")), std::string(), std::string("1234567"), std::string(8, '\xff'),
        std::string(5000, '\0'), std::string("GGUF and more bytes than eight")}) {
    write_file(dir.file("other"), content);
    CHECK_FALSE(ArtifactReader::recognises(dir.file("other")));
    CHECK_THROWS_AS(ArtifactReader(dir.file("other")), Error);
  }
  CHECK_FALSE(ArtifactReader::recognises(dir.path().string()));
  CHECK_THROWS_AS(ArtifactReader::recognises(dir.file("none")), Error);
}

TEST_CASE("the source's metadata comes back, whatever its format says") {
  TempDir dir;
  using Metadata = std::map<std::string, std::string>;
  for (const Metadata& metadata :
       {Metadata{}, Metadata{{"format", "pt"}}, Metadata{{"format", "synps"}}, Metadata{{"x", ""}}})
    for (const bool with_packed : {false, true}) {
      ArtifactContents contents;
      contents.weights = {testing::dense("d", DType::f32, Shape{4})};
      if (with_packed) contents.weights.push_back(testing::packed("p", Shape{2, 2}));
      contents.metadata = metadata;
      write_artifact(dir.file("a"), std::move(contents));
      CHECK(ArtifactReader(dir.file("a")).source_metadata() == metadata);
    }
}

TEST_CASE("an artifact without weights is sound") {
  TempDir dir;
  write_artifact(dir.file("a"), {});
  CHECK(ArtifactReader(dir.file("a")).check_all().empty());
}

Problem problem_of(const std::string& file) {
  try {
    const ArtifactReader reader(file);
  } catch (const Error& error) {
    return error.problems().front();
  }
  return {};
}

TEST_CASE("another format version is named") {
  TempDir dir;
  write_artifact(dir.file("a"), small_contents());
  std::string bytes = read_file(dir.file("a"));
  const std::string version = R"("synps.version":"1")";
  const struct {
    const char* version;
    const char* hint;
  } cases[] = {{"0", "never frozen"}, {"2", "newer synps"}, {"7", "newer synps"}, {"x", "damaged"}};
  for (const auto& each : cases) {
    CAPTURE(each.version);
    const std::string found = fmt::format(R"("synps.version":"{}")", each.version);
    std::string other = bytes;
    other.replace(other.find(version), version.size(), found);
    // Another version may have other entries, too.
    std::string renamed = other;
    const std::string sums = R"("__synps_sums__")";
    renamed.replace(renamed.find(sums), sums.size(), R"("__synps_more__")");
    for (const std::string& text : {other, renamed}) {
      write_file(dir.file("b"), text);
      CHECK(ArtifactReader::recognises(dir.file("b")));
      const Problem problem = problem_of(dir.file("b"));
      CHECK(problem.code == ErrorCode::artifact);
      CHECK(problem.what == "the artifact has another format version");
      CHECK(problem.found == quote(each.version));
      CHECK(problem.want == "1, which this synps reads");
      CHECK(problem.hint.find(each.hint) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace synps
