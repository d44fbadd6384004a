// Artifacts with compressed components: layout, index, reading, damage, lies.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "artifact_patient.h"
#include "artifact_samples.h"
#include "synps/artifact_reader.h"
#include "synps/component_reader.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::compressed;
using testing::dense;
using testing::HalfByteRows;
using testing::packed;
using testing::Patient;
using testing::problems_of;
using testing::read_file;
using testing::sample_bytes;
using testing::small_contents;
using testing::TempDir;
using testing::write_artifact;
using testing::write_file;

/// small_contents() with some of them compressed, and a few more.
ArtifactContents mixed_contents() {
  ArtifactContents contents = small_contents();
  for (StoredWeight& weight : contents.weights)
    if (weight.weight.path == "a.weight" || weight.weight.path == "norm" ||
        weight.weight.path == "mask" || weight.weight.path == "scalar")
      weight = compressed(weight);
  contents.weights.push_back(compressed(dense("wide", DType::bf16, Shape{9, 200'000}), 1));
  contents.weights.push_back(compressed(packed("many", Shape{9000, 512}), 1));
  return contents;
}

const StoredWeight& weight_of(const ArtifactIndex& index, std::string_view path) {
  const auto found = std::find_if(index.weights.begin(), index.weights.end(),
                                  [&](const auto& weight) { return weight.weight.path == path; });
  REQUIRE(found != index.weights.end());
  return *found;
}

TEST_CASE("compressed components come last, unpadded, under names of their own") {
  const ArtifactLayout layout = lay_out(mixed_contents(), HalfByteRows());
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      if (stored.stored_bytes != 0) rows.emplace_back(stored.offset, stored.entry);
  std::sort(rows.begin(), rows.end());
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.second);
  CHECK(names == std::vector<std::string>{"z.weight#codes", "z.weight#scales", "ids", "b.bias",
                                          "nibbles", "a.weight#codes.zstd", "a.weight#scales.zstd",
                                          "many#codes.zstd", "many#scales.zstd", "mask#values.zstd",
                                          "norm#values.zstd", "scalar#values.zstd",
                                          "wide#values.zstd"});
  CHECK(layout.has_bounds);
  CHECK(layout.index.zstd == zstd_version());
  const auto& wide = weight_of(layout.index, "wide").components[0];
  CHECK(wide.chunks() == 2);
  CHECK(wide.stored_bytes == *frame_bound(8 * 400'000) + *frame_bound(400'000));
  CHECK(layout.index.stored_bytes() + layout.header_bytes + layout.index_bytes +
            layout.sums_bytes ==
        layout.file_bytes);
}

TEST_CASE("nothing of a layout without compression changes for it") {
  const ArtifactLayout layout = lay_out(small_contents(), HalfByteRows());
  CHECK_FALSE(layout.has_bounds);
  CHECK(layout.index.zstd.empty());
  CHECK(to_json(layout.index).ends_with(",\"zstd\":\"\"}"));
}

TEST_CASE("a compressed weight keeps plain loaders away, float or not") {
  for (const DType dtype : {DType::f32, DType::i64}) {
    ArtifactContents contents;
    contents.weights = {compressed(dense("a", dtype, Shape{4}))};
    contents.metadata = {{"format", "pt"}};
    CHECK(lay_out(contents, HalfByteRows()).metadata.at("format") == "synps");
  }
}

TEST_CASE("what was compressed is read back, and every plan is kept") {
  TempDir dir;
  const ArtifactLayout plan = lay_out(mixed_contents(), HalfByteRows());
  const ArtifactLayout written = write_artifact(dir.file("a"), mixed_contents());
  const std::string bytes = read_file(dir.file("a"));
  CHECK(written.file_bytes == bytes.size());
  CHECK(written.file_bytes < plan.file_bytes);
  CHECK_FALSE(written.has_bounds);
  CHECK(written.header_bytes == plan.header_bytes);
  CHECK(written.index_bytes == plan.index_bytes);
  CHECK(written.sums_bytes == plan.sums_bytes);

  const ArtifactReader artifact(dir.file("a"));
  CHECK(artifact.check_all().empty());
  CHECK(artifact.index().zstd == zstd_version());
  ComponentReader reader(artifact);
  std::size_t inflated = 0;
  for (std::size_t w = 0; w < artifact.index().weights.size(); ++w) {
    const StoredWeight& weight = artifact.index().weights[w];
    for (std::size_t c = 0; c < weight.components.size(); ++c) {
      const StoredComponent& stored = weight.components[c];
      const auto expected = sample_bytes(stored.component.bytes, static_cast<unsigned>(10 * w + c));
      std::vector<std::byte> found(expected.size());
      reader.read(weight, stored, 0, found);
      CHECK(found == expected);
      for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk)
        CHECK_NOTHROW(artifact.check_chunk(weight, stored, chunk));
      if (!stored.compressed()) {
        CHECK(plan.index.weights[w].components[c].offset == stored.offset);
        continue;
      }
      ++inflated;
      CHECK_THROWS_AS(artifact.bytes(stored), Error);
      CHECK(stored.stored_bytes <= plan.index.weights[w].components[c].stored_bytes);
    }
  }
  CHECK(inflated == 8);
}

TEST_CASE("any range of true bytes can be read, in any sequence") {
  TempDir dir;
  write_artifact(dir.file("a"), mixed_contents());
  const ArtifactReader artifact(dir.file("a"));
  const StoredWeight& weight = *artifact.find("wide");
  const StoredComponent& stored = weight.components[0];
  std::vector<std::byte> all(stored.component.bytes);
  ComponentReader(artifact).read(weight, stored, 0, all);
  ComponentReader reader(artifact);
  const std::uint64_t places[][2] = {{0, 10},         {10, 100},      {50, 5},
                                     {1'048'570, 20}, {2'000'000, 1}, {100, 3'000'000},
                                     {3'199'990, 20}, {0, 3'200'000}, {3'200'000, 400'000},
                                     {3'599'999, 1},  {3'600'000, 0}, {1'048'576, 1'048'576},
                                     {1'048'576, 10}, {2'097'152, 1}};
  for (const auto& [offset, size] : places) {
    CAPTURE(offset);
    std::vector<std::byte> part(size);
    reader.read(weight, stored, offset, part);
    CHECK(std::equal(part.begin(), part.end(), all.begin() + std::ptrdiff_t(offset)));
  }
}

TEST_CASE("the bytes do not depend on how they came to the writer") {
  TempDir dir;
  const ArtifactLayout layout = lay_out(mixed_contents(), HalfByteRows());
  write_artifact(dir.file("a"), mixed_contents());
  AtomicFile file(Os::posix(), dir.file("b"), {});
  ArtifactWriter writer(file, layout);
  for (std::size_t w = layout.index.weights.size(); w-- > 0;)
    for (std::size_t c = 0; c < layout.index.weights[w].components.size(); ++c) {
      const auto& component = layout.index.weights[w].components[c].component;
      const auto bytes = sample_bytes(component.bytes, static_cast<unsigned>(10 * w + c));
      for (std::size_t at = 0; at < bytes.size(); at += 70'001)
        writer.write(
            w, c, at,
            std::span(bytes).subspan(at, std::min<std::size_t>(70'001, bytes.size() - at)));
    }
  writer.finish();
  file.commit();
  CHECK(read_file(dir.file("a")) == read_file(dir.file("b")));
}

TEST_CASE(
    "chunks that do not shrink stay frames, and stay whole while they are compressed in place") {
  TempDir dir;
  // Noise in chunks of several segments: frames are larger than what they hold.
  ArtifactContents contents;
  contents.weights = {compressed(dense("n", DType::i64, Shape{20, 40'000}), 1)};
  const ArtifactLayout layout = lay_out(contents, HalfByteRows());
  std::vector<std::byte> noise(layout.index.weights[0].components[0].component.bytes);
  std::uint64_t state = 1;
  for (std::byte& byte : noise) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  {
    AtomicFile file(Os::posix(), dir.file("a"), {});
    ArtifactWriter writer(file, layout);
    writer.write(0, 0, 0, noise);
    const ArtifactLayout written = writer.finish().value();
    CHECK(written.index.weights[0].components[0].stored_bytes > noise.size());
    CHECK(written.file_bytes <= layout.file_bytes);
    file.commit();
  }
  const ArtifactReader artifact(dir.file("a"));
  CHECK(artifact.check_all().empty());
  std::vector<std::byte> found(noise.size());
  ComponentReader(artifact).read(artifact.index().weights[0],
                                 artifact.index().weights[0].components[0], 0, found);
  CHECK(found == noise);
}

TEST_CASE("frames come in their turn") {
  TempDir dir;
  const ArtifactLayout layout = lay_out(mixed_contents(), HalfByteRows());
  AtomicFile file(Os::posix(), dir.file("a"), {});
  ArtifactWriter writer(file, layout);
  const std::uint64_t begin = writer.next_frame();
  CHECK(begin == layout.header_bytes + layout.index.weights[0].components[0].offset);
  CHECK_THROWS_AS(writer.set_frame(0, 1, 0, 30, Digest{}), std::logic_error);
  writer.set_frame(0, 0, 0, 30, Digest{});
  CHECK(writer.next_frame() == begin + 30);
}

TEST_CASE("the index of compressed components reads back") {
  ArtifactIndex index = lay_out(mixed_contents(), HalfByteRows()).index;
  const std::string json = to_json(index);
  CHECK(to_json(parse_index(json, "x")) == json);
  // Sizes and places have a fixed width.
  for (StoredWeight& weight : index.weights)
    for (StoredComponent& stored : weight.components)
      if (stored.compressed()) stored.offset = stored.stored_bytes = ~std::uint64_t{0};
  CHECK(to_json(index).size() == json.size());
}

TEST_CASE("an index of compressed components that contradicts itself is refused") {
  const std::string json = to_json(lay_out(mixed_contents(), HalfByteRows()).index);
  const auto field_of = [&](std::string_view from, std::string_view to) -> std::string {
    std::string bad = json;
    const std::size_t at = bad.find(from);
    REQUIRE(at != std::string::npos);
    bad.replace(at, from.size(), to);
    try {
      parse_index(bad, "x");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::artifact);
      return error.problems()[0].field;
    }
    return "none";
  };
  const std::string version = "\"zstd\":\"" + zstd_version() + "\"";
  CHECK(field_of(version, "\"zstd\":\"\"") == "zstd");
  CHECK(field_of(version, "\"zstd\":\"one\"") == "zstd");
  CHECK(field_of(version, "\"zstd\":null") == "zstd");
  CHECK(field_of(R"("compress":"zstd:3")", R"("compress":"zstd")") == "forms[0].asked.compress");
  CHECK(field_of(R"("compress":"zstd:3")", R"("compress":"zstd:0")") == "forms[0].asked.compress");
  CHECK(field_of(R"("compression":"zstd")", R"("compression":"gzip")") ==
        "weights[0].components[0].compression");
  CHECK(field_of(R"("compression":"zstd")", R"("compression":"none")") ==
        "weights[0].components[0].offset");
  CHECK(field_of(R"("offset":"0000)", R"("offset":"000)") == "weights[0].components[0].offset");
  CHECK(field_of(R"("stored_bytes":"0000)", R"("stored_bytes":"000A)") ==
        "weights[0].components[0].stored_bytes");
  CHECK(field_of(R"("residency":"heap")", R"("residency":"mapped")") == "weights[0].form");
}

TEST_CASE("every flipped bit of a compressed artifact is found and named") {
  TempDir dir;
  ArtifactContents contents;
  contents.weights = {compressed(dense("b", DType::bf16, Shape{40})),
                      compressed(packed("p", Shape{3, 4})), dense("ids", DType::i32, Shape{3})};
  const ArtifactLayout layout = write_artifact(dir.file("a"), std::move(contents));
  REQUIRE(problems_of(dir.file("a")).empty());
  const std::string bytes = read_file(dir.file("a"));
  Patient patient(dir.file("a"));
  std::map<std::string, std::size_t> unnamed;
  const auto place_at = [&](std::size_t at) -> std::string {
    if (at < layout.header_bytes) return "";  // header, metadata or index digest
    at -= layout.header_bytes;
    if (at < layout.index_bytes) return "__synps__";
    if (at < layout.index_bytes + layout.sums_bytes) return "__synps_sums__";
    for (const StoredWeight& weight : layout.index.weights)
      for (const StoredComponent& stored : weight.components)
        if (at >= stored.offset && at < stored.offset + stored.stored_bytes)
          return weight.weight.path + ", component " + stored.component.name;
    return "nowhere";
  };
  std::size_t missed = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    // Padding is all alike: every place of it with one bit, all bits at its ends.
    const bool alike =
        at > 0 && at + 1 < bytes.size() && bytes[at - 1] == bytes[at] && bytes[at + 1] == bytes[at];
    const auto first = static_cast<unsigned>(alike ? at % 8 : 0);
    for (unsigned bit = first; bit < (alike ? first + 1 : 8); ++bit) {
      const auto problems = patient.with_flip(at, bit);
      if (problems.empty()) ++missed;
      const std::string place = place_at(at);
      const bool named = std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
        return to_string(problem).find(place) != std::string::npos;
      });
      if (!named) ++unnamed[place];
    }
  }
  CHECK(missed == 0);
  for (const auto& [place, count] : unnamed) {
    CAPTURE(place);
    CHECK(count == 0);
  }
}

TEST_CASE("every truncation and an appended byte of a compressed artifact are found") {
  TempDir dir;
  ArtifactContents contents;
  contents.weights = {compressed(dense("b", DType::bf16, Shape{40}))};
  write_artifact(dir.file("a"), std::move(contents));
  const std::string bytes = read_file(dir.file("a"));
  for (std::size_t cut = 1; cut < 200; ++cut) {
    write_file(dir.file("b"), bytes.substr(0, bytes.size() - cut));
    CHECK_FALSE(problems_of(dir.file("b")).empty());
  }
  write_file(dir.file("b"), bytes + '\0');
  CHECK_FALSE(problems_of(dir.file("b")).empty());
}

/// An artifact of one compressed weight of which everything fits but what `change` did to its
/// stored frames and the sizes in the sums.
class Liar {
 public:
  explicit Liar(const std::string& path, Shape shape = Shape{100}) : path_(path) {
    ArtifactContents contents;
    contents.weights = {compressed(dense("w", DType::i32, std::move(shape)))};
    layout_ = write_artifact(path, std::move(contents));
    const std::string bytes = read_file(path);
    const StoredComponent& stored = layout_.index.weights[0].components[0];
    const std::size_t sums = layout_.header_bytes + layout_.index_bytes;
    std::size_t at = layout_.header_bytes + stored.offset;
    for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk) {
      std::uint64_t size = 0;
      for (unsigned i = 8; i-- > 0;)
        size = size << 8 | static_cast<unsigned char>(bytes[sums + 24 * chunk + 16 + i]);
      frames.push_back(bytes.substr(at, size));
      sizes.push_back(size);
      at += size;
    }
  }

  /// Writes the file anew, with digests that fit, and returns its problems.
  std::vector<Problem> problems() {
    StoredComponent& stored = layout_.index.weights[0].components[0];
    std::string data;
    std::string sums;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const Digest digest = xxh3_128(std::as_bytes(std::span(frames[i])));
      sums.append(reinterpret_cast<const char*>(digest.data()), digest.size());
      for (unsigned shift = 0; shift < 64; shift += 8)
        sums += static_cast<char>(sizes[i] >> shift & 0xFF);
      data += frames[i];
    }
    sums.resize(layout_.sums_bytes, '\0');
    stored.stored_bytes = data.size();
    settle_sizes(layout_);
    layout_.index.sums = xxh3_128(std::as_bytes(std::span(sums)));
    std::string json = to_json(layout_.index);
    json.resize(layout_.index_bytes, ' ');
    write_file(path_, render_header(layout_, xxh3_128(std::as_bytes(std::span(json)))) + json +
                          sums + data);
    return problems_of(path_);
  }

  std::vector<std::string> frames;
  std::vector<std::uint64_t> sizes;

 private:
  std::string path_;
  ArtifactLayout layout_;
};

TEST_CASE("frames and sizes that lie are found although every digest fits") {
  TempDir dir;
  const auto found = [&](std::string_view words, const auto& change) {
    Liar liar(dir.file("a"), Shape{3, 400'000});
    REQUIRE(liar.frames.size() == 1);
    change(liar);
    const auto problems = liar.problems();
    std::string text;
    for (const Problem& problem : problems) text += to_string(problem) + "\n";
    CAPTURE(text);
    CHECK(text.find(words) != std::string::npos);
    if (!problems.empty()) CHECK(problems[0].code == ErrorCode::artifact);
  };
  {
    Liar honest(dir.file("a"), Shape{3, 400'000});
    CHECK(honest.problems().empty());
  }
  found("do not add up", [](Liar& liar) { liar.sizes[0] += 1; });
  found("do not add up", [](Liar& liar) { liar.sizes[0] = ~std::uint64_t{0}; });
  found("do not add up", [](Liar& liar) { liar.sizes[0] = 0; });
  found("bytes follow the zstd frame", [](Liar& liar) {
    liar.frames[0] += "x";
    liar.sizes[0] += 1;
  });
  found("damaged", [](Liar& liar) { liar.frames[0][liar.frames[0].size() / 2] ^= 1; });
  found("not a zstd frame", [](Liar& liar) { liar.frames[0][0] = 0; });
}

TEST_CASE("a frame that is too small for what it announces is refused before memory is taken") {
  TempDir dir;
  Liar liar(dir.file("a"), Shape{3, 400'000});
  liar.frames[0].resize(20);
  liar.sizes[0] = 20;
  const auto problems = liar.problems();
  REQUIRE_FALSE(problems.empty());
  CHECK(to_string(problems[0]).find("20 bytes for a chunk of 4800000") != std::string::npos);
}

}  // namespace
}  // namespace synps
