// Whatever happens to an artifact's bytes is found and named.

#include <doctest/doctest.h>

#include "artifact_patient.h"
#include "artifact_samples.h"
#include "synps/artifact_reader.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::HalfByteRows;
using testing::Patient;
using testing::problems_of;
using testing::read_file;
using testing::small_contents;
using testing::TempDir;
using testing::write_artifact;
using testing::write_file;

ArtifactContents tiny_contents() {
  ArtifactContents contents;
  contents.weights = {testing::dense("b", DType::f32, Shape{3}), testing::packed("p", Shape{3, 4})};
  contents.metadata = {{"format", "pt"}};
  return contents;
}

TEST_CASE("every flipped bit is found") {
  TempDir dir;
  write_artifact(dir.file("a"), tiny_contents());
  Patient patient(dir.file("a"));
  std::size_t missed = 0;
  for (std::size_t at = 0; at < patient.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit)
      if (patient.with_flip(at, bit).empty()) ++missed;
  CHECK(missed == 0);
  CHECK(problems_of(dir.file("a")).empty());
}

TEST_CASE("damage is named by where it is") {
  TempDir dir;
  const ArtifactLayout layout = write_artifact(dir.file("a"), small_contents());
  Patient patient(dir.file("a"));
  const auto names = [&](std::size_t at, std::string_view place) {
    CAPTURE(at);
    bool named = false;
    for (const Problem& problem : patient.with_flip(at, 3))
      named = named || to_string(problem).find(place) != std::string::npos;
    CAPTURE(place);
    CHECK(named);
  };
  const std::uint64_t data = layout.header_bytes;
  names(3, "header");
  names(read_file(dir.file("a")).find("norm\":"), "header");
  names(data - 1, "header");
  names(data + 40, "__synps__");
  names(data + layout.index_bytes - 1, "__synps__");
  names(data + layout.index_bytes + 5, "__synps_sums__");
  names(data + layout.index_bytes + layout.sums_bytes - 1, "__synps_sums__");
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components) {
      if (stored.stored_bytes == 0) continue;
      names(data + stored.offset, weight.weight.path);
      names(data + stored.offset + stored.stored_bytes - 1, weight.weight.path);
    }
}

TEST_CASE("every truncation and an appended byte are found") {
  TempDir dir;
  write_artifact(dir.file("a"), tiny_contents());
  const std::string bytes = read_file(dir.file("a"));
  for (std::size_t size = 0; size < bytes.size(); size += size < 600 ? 1 : 97) {
    CAPTURE(size);
    write_file(dir.file("b"), bytes.substr(0, size));
    CHECK_FALSE(problems_of(dir.file("b")).empty());
  }
  write_file(dir.file("b"), bytes.substr(0, bytes.size() - 1));
  CHECK_FALSE(problems_of(dir.file("b")).empty());
  write_file(dir.file("b"), bytes + '\0');
  const auto problems = problems_of(dir.file("b"));
  REQUIRE_FALSE(problems.empty());
  CHECK(to_string(problems[0]).find("length") != std::string::npos);
}

TEST_CASE("two chunks of one size that change places are found") {
  TempDir dir;
  ArtifactContents contents;
  contents.weights = {testing::dense("a", DType::f32, Shape{64, 65536})};
  const ArtifactLayout layout = write_artifact(dir.file("a"), std::move(contents));
  const StoredComponent& stored = layout.index.weights[0].components[0];
  REQUIRE(stored.chunks() > 2);
  std::string bytes = read_file(dir.file("a"));
  const std::size_t first = layout.header_bytes + stored.offset;
  const std::string chunk = bytes.substr(first, stored.chunk_bytes);
  bytes.replace(first, chunk.size(), bytes.substr(first + chunk.size(), chunk.size()));
  bytes.replace(first + chunk.size(), chunk.size(), chunk);
  write_file(dir.file("b"), bytes);
  CHECK(problems_of(dir.file("b")).size() == 2);
}

/// Writes an artifact whose index is a lie, with digests that fit it.
void write_with_index(const std::string& path, ArtifactLayout layout) {
  const std::string header = render_header(layout, Digest{});
  layout.index.header = xxh3_128(std::as_bytes(std::span(header)));
  AtomicFile file(Os::posix(), path, {.replace = true});
  ArtifactWriter(file, layout).finish();
  file.commit();
}

TEST_CASE("an index that lies about places is found although every digest fits") {
  TempDir dir;
  const ArtifactLayout good = lay_out(small_contents(), HalfByteRows());
  write_with_index(dir.file("a"), good);
  REQUIRE(problems_of(dir.file("a")).empty());

  const auto found = [&](const auto& change) {
    ArtifactLayout bad = good;
    change(bad.index.weights[0].components[0]);
    write_with_index(dir.file("a"), bad);
    return !problems_of(dir.file("a")).empty();
  };
  CHECK(found([](StoredComponent& c) { c.entry = "other#codes"; }));
  CHECK(found([](StoredComponent& c) { c.offset += 64; }));
  CHECK(found([](StoredComponent& c) { c.offset -= 64; }));
  CHECK(found([](StoredComponent& c) { c.first_digest += 1; }));
}

TEST_CASE("sizes and chunks that are not the format's are found although every digest fits") {
  TempDir dir;
  const auto problems = [&](const auto& change) {
    ArtifactContents contents;
    contents.weights = {testing::dense("kept", DType::i32, Shape{40, 4})};
    ArtifactLayout layout = lay_out(std::move(contents), HalfByteRows());
    change(layout);
    layout.file_bytes = layout.header_bytes + layout.index_bytes + layout.sums_bytes +
                        layout.index.weights[0].components[0].stored_bytes;
    write_with_index(dir.file("a"), layout);
    const CodecRegistry none;
    return ArtifactReader(dir.file("a")).check_all(&none);
  };
  CHECK(problems([](ArtifactLayout&) {}).empty());
  const auto first = [](ArtifactLayout& layout) -> StoredComponent& {
    return layout.index.weights[0].components[0];
  };
  CHECK_FALSE(problems([&](ArtifactLayout& l) { first(l).stored_bytes += 64; }).empty());
  CHECK_FALSE(problems([&](ArtifactLayout& l) { first(l).chunk_rows += 8; }).empty());
  CHECK_FALSE(problems([&](ArtifactLayout& l) { first(l).chunk_bytes += 128; }).empty());
  CHECK_FALSE(problems([&](ArtifactLayout& l) { first(l).component.name = "blocks"; }).empty());
  CHECK_FALSE(problems([&](ArtifactLayout& l) { first(l).component.dtype = DType::f32; }).empty());
  CHECK_FALSE(problems([](ArtifactLayout& l) {
                l.index.weights[0].weight.shape = Shape{40, 8};
              }).empty());
  CHECK_FALSE(problems([&](ArtifactLayout& l) {  // a longer list of digests than there are chunks
                l.sums_bytes += 4096;
                first(l).offset += 4096;
              })
                  .empty());
  CHECK_FALSE(problems([&](ArtifactLayout& l) {  // a longer index than its text needs
                l.index_bytes += 4096;
                first(l).offset += 4096;
              })
                  .empty());
}

/// An artifact of one packed and one dense weight whose layout was changed before it was written.
std::vector<Problem> problems_with(const std::string& path, const auto& change) {
  ArtifactContents contents;
  contents.weights = {testing::packed("a", Shape{3, 4}), testing::dense("b", DType::f32, Shape{3})};
  contents.weights[0].decisions = {{"dtype", "*"}, {"format", "*"}};
  const Scheme cache{.scope = Scope::internal, .format = "half:half"};
  contents.values = {{"v1", cache}, {"v2", cache}};
  ArtifactLayout layout = lay_out(std::move(contents), HalfByteRows());
  change(layout);
  write_with_index(path, layout);
  return problems_of(path);
}

TEST_CASE("names that come twice or are reserved, and lists out of sequence, are found") {
  TempDir dir;
  const std::string path = dir.file("a");
  CHECK(problems_with(path, [](ArtifactLayout&) {}).empty());
  const auto rename = [](ArtifactLayout& layout, const std::string& name) {
    layout.index.weights[1].weight.path = name;
    layout.index.weights[1].components[0].entry = name;
  };
  for (const char* name : {"a#codes", "a_"}) {  // the second one is fine
    CAPTURE(name);
    const auto problems = problems_with(path, [&](ArtifactLayout& l) { rename(l, name); });
    CHECK(problems.empty() == (std::string_view(name) == "a_"));
  }
  for (const char* name : {"__metadata__", "__synps_more"}) {
    CAPTURE(name);
    CHECK_FALSE(problems_with(path, [&](ArtifactLayout& l) {
                  rename(l, name);
                  std::swap(l.index.weights[0], l.index.weights[1]);
                }).empty());
  }
  CHECK_FALSE(problems_with(path, [](ArtifactLayout& l) {
                SharedList<Decision>& decisions = l.index.weights[0].decisions;
                decisions = {decisions[1], decisions[0]};
              }).empty());
}

TEST_CASE("an index whose sizes no codec could have is damage, not a limit") {
  TempDir dir;
  const CodecRegistry none;
  const auto problems = [&](Shape shape, DType dtype) {
    ArtifactContents contents;
    contents.weights = {testing::dense("a", DType::i32, Shape{0})};
    ArtifactLayout layout = lay_out(std::move(contents), HalfByteRows());
    layout.index.weights[0].weight.shape = std::move(shape);
    layout.index.weights[0].weight.dtype = dtype;
    layout.index.weights[0].source = encoding_name(dtype);
    write_with_index(dir.file("a"), layout);
    return ArtifactReader(dir.file("a")).check_all(&none);
  };
  const auto found = problems(Shape{std::uint64_t{1} << 62}, DType::f64);
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].code == ErrorCode::artifact);
  CHECK(found[0].file == dir.file("a"));
  CHECK_FALSE(problems(Shape{3}, DType::f4).empty());
}

TEST_CASE("bytes after the last digest must be zeros") {
  TempDir dir;
  const ArtifactLayout layout = write_artifact(dir.file("a"), tiny_contents());
  std::string bytes = read_file(dir.file("a"));
  const std::size_t sums = layout.header_bytes + layout.index_bytes;
  bytes[sums + layout.sums_bytes - 1] = 'x';
  ArtifactIndex index =
      parse_index(std::string_view(bytes).substr(layout.header_bytes, layout.index_bytes), "a");
  index.sums = xxh3_128(std::as_bytes(std::span(bytes).subspan(sums, layout.sums_bytes)));
  std::string json = to_json(index);
  json.resize(layout.index_bytes, ' ');
  bytes.replace(layout.header_bytes, json.size(), json);
  const std::string header = render_header(layout, xxh3_128(std::as_bytes(std::span(json))));
  bytes.replace(0, header.size(), header);
  write_file(dir.file("b"), bytes);
  const auto problems = problems_of(dir.file("b"));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].field == "__synps_sums__");
}

TEST_CASE("offsets and digests out of range are refused before they are used") {
  TempDir dir;
  const ArtifactLayout good = lay_out(small_contents(), HalfByteRows());
  std::string bytes;
  {
    write_with_index(dir.file("a"), good);
    bytes = read_file(dir.file("a"));
  }
  // Put a changed index and matching digests into the finished file.
  const auto rewritten = [&](const auto& change) {
    ArtifactLayout bad = good;
    bad.index = parse_index(bytes.substr(good.header_bytes, good.index_bytes), "a");
    change(bad.index.weights[0].components[0]);
    std::string json = to_json(bad.index);
    REQUIRE(json.size() <= good.index_bytes);
    json.resize(good.index_bytes, ' ');
    std::string changed = bytes;
    changed.replace(good.header_bytes, json.size(), json);
    const Digest digest = xxh3_128(std::as_bytes(std::span(json)));
    const std::string header = render_header(good, digest);
    changed.replace(0, header.size(), header);
    write_file(dir.file("b"), changed);
    return problems_of(dir.file("b"));
  };
  CHECK(rewritten([](StoredComponent&) {}).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.offset = std::uint64_t{1} << 63; }).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.offset = ~std::uint64_t{0}; }).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.offset = 0; }).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.stored_bytes = ~std::uint64_t{0}; }).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.first_digest = 100'000; }).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.first_digest = ~std::uint64_t{0}; }).empty());
  CHECK_FALSE(rewritten([](StoredComponent& c) { c.chunk_bytes = 1; }).empty());
}

}  // namespace
}  // namespace synps
