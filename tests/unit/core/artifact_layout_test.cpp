#include <doctest/doctest.h>

#include <algorithm>

#include "artifact_samples.h"
#include "synps/error.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::dense;
using testing::HalfByteRows;
using testing::packed;
using testing::small_contents;

const StoredWeight& weight_of(const ArtifactLayout& layout, std::string_view path) {
  for (const StoredWeight& weight : layout.index.weights)
    if (weight.weight.path == path) return weight;
  throw std::runtime_error("no such weight");
}

std::vector<std::string> entries_by_offset(const ArtifactLayout& layout) {
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      if (stored.stored_bytes != 0) rows.emplace_back(stored.offset, stored.entry);
  std::sort(rows.begin(), rows.end());
  std::vector<std::string> names;
  for (auto& row : rows) names.push_back(std::move(row.second));
  return names;
}

TEST_CASE("the layout follows the documented classes") {
  const ArtifactLayout layout = lay_out(small_contents(), HalfByteRows());
  CHECK(entries_by_offset(layout) ==
        std::vector<std::string>{"z.weight#codes", "z.weight#scales",  // volatile
                                 "a.weight#codes", "a.weight#scales",  // packed
                                 "norm",                               // dense, multiple of 64
                                 "ids", "b.bias", "scalar", "mask", "nibbles"});
  CHECK(layout.header_bytes % 4096 == 0);
  CHECK(layout.index_bytes % 4096 == 0);
  CHECK(layout.sums_bytes % 4096 == 0);
  for (const StoredComponent& stored : weight_of(layout, "z.weight").components) {
    CHECK(stored.offset % 4096 == 0);
    CHECK(stored.stored_bytes == 4096);
  }
  CHECK(weight_of(layout, "a.weight").components[0].stored_bytes == 64);
}

TEST_CASE("entries tile the data section") {
  const ArtifactLayout layout = lay_out(small_contents(), HalfByteRows());
  std::uint64_t end = layout.index_bytes + layout.sums_bytes;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      ranges.emplace_back(stored.offset, stored.stored_bytes);
  std::sort(ranges.begin(), ranges.end());
  for (const auto& [offset, size] : ranges) {
    CHECK(offset == end);
    end += size;
  }
  CHECK(layout.file_bytes == layout.header_bytes + end);
}

TEST_CASE("chunks are groups of eight rows, as many as fit in 1 MiB") {
  ArtifactContents contents;
  contents.weights = {packed("p", Shape{1000, 4096}), dense("v", DType::f32, Shape{3'000'000}),
                      dense("wide", DType::f32, Shape{20, 100'000}),
                      dense("f4", DType::f4, Shape{1000, 4098})};
  const ArtifactLayout layout = lay_out(std::move(contents), HalfByteRows());
  const auto& codes = weight_of(layout, "p").components[0];
  CHECK(codes.chunk_rows == 512);  // rows of 2048 bytes
  CHECK(codes.chunk_bytes == 1u << 20);
  CHECK(codes.chunks() == 2);
  CHECK(codes.chunk_end(1) == codes.stored_bytes);
  const auto& scales = weight_of(layout, "p").components[1];
  CHECK(scales.chunks() == 1);
  const auto& vector = weight_of(layout, "v").components[0];
  CHECK(vector.chunk_rows == 8);  // rows of 65,536 elements: 2 MiB a group, more than the target
  CHECK(vector.chunk_bytes == 8u * 65536 * 4);
  CHECK(vector.chunks() == 6);
  const auto& wide = weight_of(layout, "wide").components[0];
  CHECK(wide.chunk_rows == 8);
  CHECK(wide.chunks() == 3);
  const auto& nibbles = weight_of(layout, "f4").components[0];
  CHECK(nibbles.chunk_bytes % (4098 * 4) == 0);  // eight rows of 2049 bytes
  CHECK(nibbles.chunk_rows == 8 * ((1u << 20) / (4098 * 4)));
}

TEST_CASE("a layout does not depend on the sequence of its input") {
  ArtifactContents forward = small_contents();
  ArtifactContents backward = small_contents();
  std::reverse(backward.weights.begin(), backward.weights.end());
  const ArtifactLayout a = lay_out(std::move(forward), HalfByteRows());
  const ArtifactLayout b = lay_out(std::move(backward), HalfByteRows());
  CHECK(to_json(a.index) == to_json(b.index));
  CHECK(render_header(a, Digest{}) == render_header(b, Digest{}));
}

TEST_CASE("the format key says whether a plain loader would miss weights") {
  ArtifactContents dense_only;
  dense_only.weights = {dense("a", DType::f32, Shape{4}), dense("b", DType::i64, Shape{4})};
  dense_only.metadata = {{"format", "pt"}};
  CHECK(lay_out(dense_only, HalfByteRows()).metadata.at("format") == "pt");
  const auto mixed = lay_out(small_contents(), HalfByteRows()).metadata;
  CHECK(mixed.at("format") == "synps");
  CHECK(mixed.at("synps.source.format") == "pt");
  CHECK(mixed.at("note") == "quote \" and é");
  ArtifactContents no_format;
  no_format.weights = {packed("p", Shape{2, 2})};
  const auto bare = lay_out(no_format, HalfByteRows()).metadata;
  CHECK(bare.at("format") == "synps");
  CHECK_FALSE(bare.contains("synps.source.format"));
  ArtifactContents own_word;
  own_word.weights = {dense("a", DType::f32, Shape{4})};
  own_word.metadata = {{"format", "synps"}};
  CHECK(lay_out(own_word, HalfByteRows()).metadata.at("synps.source.format") == "synps");
}

TEST_CASE("names that collide with entries of ours are refused") {
  for (const char* name : {"__synps__", "__synps_x", "p#codes", "__metadata__"}) {
    CAPTURE(name);
    ArtifactContents contents;
    contents.weights = {packed("p", Shape{2, 2}), dense(name, DType::f32, Shape{1})};
    CHECK_THROWS_AS(lay_out(contents, HalfByteRows()), Error);
  }
  ArtifactContents contents;
  contents.weights = {dense("p#codes", DType::f32, Shape{1})};  // nothing to collide with
  CHECK(lay_out(contents, HalfByteRows()).index.weights.size() == 1);
  contents.metadata = {{"synps.note", "x"}};
  CHECK_THROWS_AS(lay_out(contents, HalfByteRows()), Error);
}

TEST_CASE("sizes that do not fit are refused") {
  ArtifactContents contents;
  contents.weights = {dense("a", DType::f64, Shape{std::uint64_t{1} << 60})};
  CHECK_THROWS_AS(lay_out(contents, HalfByteRows()), Error);
}

TEST_CASE("a weight without elements survives, whatever its other extents") {
  ArtifactContents contents;
  contents.weights = {dense("a", DType::f64, Shape{0, std::uint64_t{1} << 57})};
  const ArtifactLayout layout = lay_out(contents, HalfByteRows());
  CHECK(weight_of(layout, "a").components[0].chunks() == 0);
  CHECK(layout.chunk_count == 0);
}

TEST_CASE("more bytes than a component announced are never written") {
  testing::TempDir dir;
  ArtifactContents contents;
  contents.weights = {dense("a", DType::f32, Shape{4}), dense("b", DType::f32, Shape{4})};
  const ArtifactLayout layout = lay_out(contents, HalfByteRows());
  AtomicFile file(Os::posix(), dir.file("a"), {});
  ArtifactWriter writer(file, layout);
  writer.write(0, 0, 8, testing::sample_bytes(8, 1));
  CHECK_THROWS_AS(writer.write(0, 0, 8, testing::sample_bytes(9, 1)), Error);
  CHECK_THROWS_AS(writer.write(0, 0, ~std::uint64_t{0}, testing::sample_bytes(2, 1)), Error);
}

TEST_CASE("an artifact without weights has a layout") {
  const ArtifactLayout layout = lay_out({}, HalfByteRows());
  CHECK(layout.chunk_count == 0);
  CHECK(layout.sums_bytes == 0);
  CHECK(layout.file_bytes == layout.header_bytes + layout.index_bytes);
}

}  // namespace
}  // namespace synps
