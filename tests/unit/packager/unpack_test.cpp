// unpack gives back plain safetensors: the source's bytes wherever nothing was lost.

#include "synps/unpack.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>

#include "pack_fixture.h"
#include "synps/artifact.h"
#include "synps/safetensors.h"

using namespace synps;
using namespace synps::testing;

namespace {

struct Unpacked {
  PackFixture fixture;
  std::string plain;
  UnpackReport report;

  Unpacked(const SafetensorsBuilder& builder, const Policy& policy, const PackOptions& options = {})
      : fixture(builder), plain(fixture.dir.file("plain.safetensors")) {
    fixture.pack(policy, options);
    report = unpack(fixture.output, plain, builtin_registry());
  }
};

std::string bytes_of_tensor(const Checkpoint& checkpoint, const SourceTensor& tensor) {
  std::string bytes(static_cast<std::size_t>(tensor.bytes), '\0');
  checkpoint.read(tensor, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

TEST_CASE("an unpacked mixture: the source's bytes where lossless, else decoded f32") {
  const Unpacked unpacked(mixed_tensors(), mixed_policy());
  const Checkpoint source = unpacked.fixture.open();
  const Checkpoint plain = Checkpoint::open(unpacked.plain);
  const Artifact artifact = Artifact::open(unpacked.fixture.output);
  REQUIRE(plain.tensors().size() == source.tensors().size());
  CHECK(plain.metadata() == source.metadata());
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const SourceTensor& from = source.tensors()[i];
    const SourceTensor& to = plain.tensors()[i];
    CAPTURE(from.weight.path);
    CHECK(to.weight.path == from.weight.path);
    CHECK(to.weight.shape == from.weight.shape);
    const WeightView stored = artifact[from.weight.path];
    if (stored.stored().lossless) {
      CHECK(to.weight.dtype == from.weight.dtype);
      CHECK(bytes_of_tensor(plain, to) == bytes_of_tensor(source, from));
    } else {
      CHECK(to.weight.dtype == DType::f32);
      CHECK(bytes_of_tensor(plain, to) == bytes_of(stored.decode()));
    }
  }
  CHECK(unpacked.report.bytes == std::filesystem::file_size(unpacked.plain));
  CHECK(unpacked.report.widened == std::vector<std::string>{"../\xC3\xBC..x", "layers.0.mlp.weight",
                                                            "layers.0.pooler.weight", "wide"});
}

TEST_CASE("a wider float gives the source dtype back, bit for bit") {
  SafetensorsBuilder builder;
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  // Every bit pattern but NaN with other bits than the codecs give one.
  std::vector<std::uint16_t> halves = all;
  for (std::uint16_t& bits : halves)
    if ((bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0) bits = (bits & 0x8000) | 0x7E00;
  std::vector<std::uint16_t> brains = all;
  for (std::uint16_t& bits : brains)
    if ((bits & 0x7F80) == 0x7F80 && (bits & 0x7F) != 0) bits |= 0x40;
  builder.add("f16", DType::f16, {256, 256}, bytes_of(halves));
  builder.add("bf16", DType::bf16, {65536}, bytes_of(brains));
  const Unpacked unpacked(builder, one_format("f32"));
  CHECK(unpacked.report.widened.empty());
  const Checkpoint source = unpacked.fixture.open();
  const Checkpoint plain = Checkpoint::open(unpacked.plain);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(plain.tensors()[i].weight == source.tensors()[i].weight);
    CHECK(bytes_of_tensor(plain, plain.tensors()[i]) ==
          bytes_of_tensor(source, source.tensors()[i]));
  }
}

TEST_CASE("every codec unpacks to what it decodes") {
  SafetensorsBuilder builder;
  add_floats(builder, "long", DType::f16, {3, 140'032}, 1);
  add_floats(builder, "matrix", DType::f32, {20, 256}, 2);
  add_floats(builder, "vector", DType::bf16, {150'016}, 3);
  for (const Codec* codec : builtin_registry().all()) {
    if (!codec->info().encodes) continue;
    CAPTURE(codec->info().id());
    const Unpacked unpacked(builder, one_format(codec->info().id()));
    const Artifact artifact = Artifact::open(unpacked.fixture.output);
    const Checkpoint plain = Checkpoint::open(unpacked.plain);
    for (const SourceTensor& tensor : plain.tensors()) {
      const std::vector<float> decoded = artifact[tensor.weight.path].decode();
      CHECK(bytes_of_tensor(plain, tensor) == dense_bytes_of(tensor.weight.dtype, decoded));
    }
  }
}

TEST_CASE("the file is laid out for any reader: aligned, padded, large elements first") {
  const Unpacked unpacked(mixed_tensors(), mixed_policy());
  const SafetensorsHeader header = read_safetensors_header(InputFile(Os::posix(), unpacked.plain));
  CHECK(header.data_start % 8 == 0);
  unsigned last_bits = 64;
  std::string last_name;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin == entry.end) continue;  // sorts before a neighbour that begins there
    const unsigned bits = dtype_bits(entry.dtype);
    CHECK(bits <= last_bits);
    if (bits == last_bits) CHECK(last_name < entry.name);
    if (bits >= 8) CHECK((header.data_start + entry.begin) % (bits / 8) == 0);
    last_bits = bits;
    last_name = entry.name;
  }
}

TEST_CASE("metadata comes back as the source had it") {
  SafetensorsBuilder with_format;
  with_format.metadata("format", "pt").metadata("a", "\xC3\xA4\n\"b\"");
  add_floats(with_format, "w", DType::f32, {2, 32});
  SafetensorsBuilder without;
  add_floats(without, "w", DType::f32, {2, 32});
  for (const SafetensorsBuilder& builder : {with_format, without})
    for (const char* codec : {"q8_0", "f32"}) {
      CAPTURE(codec);
      const Unpacked unpacked(builder, one_format(codec));
      CHECK(Checkpoint::open(unpacked.plain).metadata() == unpacked.fixture.open().metadata());
    }
}

TEST_CASE("what was packed from an unpacked file is the same artifact where nothing was lost") {
  const Unpacked unpacked(mixed_tensors(), one_format("keep"));
  const Checkpoint plain = Checkpoint::open(unpacked.plain);
  pack(plain, make_plan(plain, one_format("keep")), unpacked.fixture.dir.file("again"));
  CHECK(read_file(unpacked.fixture.dir.file("again")) == read_file(unpacked.fixture.output));
}

TEST_CASE("damaged bytes are not unpacked") {
  const PackFixture fixture(mixed_tensors());
  fixture.pack(mixed_policy());
  const std::string bytes = read_file(fixture.output);
  std::vector<std::uint64_t> offsets;
  {
    const ArtifactReader reader(fixture.output);
    for (const StoredWeight& stored : reader.index().weights)
      for (const StoredComponent& component : stored.components)
        if (component.component.bytes != 0) offsets.push_back(reader.file_offset(component));
  }
  const std::string plain = fixture.dir.file("plain.safetensors");
  for (const std::uint64_t offset : offsets) {
    CAPTURE(offset);
    std::string damaged = bytes;
    damaged[offset] = static_cast<char>(damaged[offset] ^ 16);
    write_file(fixture.output, damaged);
    const auto problems = problems_of([&] { unpack(fixture.output, plain, builtin_registry()); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::artifact);
    CHECK_FALSE(std::filesystem::exists(plain));
  }
  CHECK(fixture.dir.list().size() == 2);
}

TEST_CASE("output safety and unknown codecs") {
  const PackFixture fixture(mixed_tensors());
  fixture.pack(mixed_policy());
  const std::string bytes = read_file(fixture.output);
  UnpackOptions replace;
  replace.replace = true;
  std::filesystem::create_hard_link(fixture.output, fixture.dir.file("link"));
  for (const std::string& output : {fixture.output, fixture.dir.file("link")}) {
    const auto problems =
        problems_of([&] { unpack(fixture.output, output, builtin_registry(), replace); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::output);
  }
  const std::string plain = fixture.dir.file("plain.safetensors");
  write_file(plain, "earlier");
  auto problems = problems_of([&] { unpack(fixture.output, plain, builtin_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::output);
  const CodecRegistry none;
  problems = problems_of([&] { unpack(fixture.output, plain, none, replace); });
  CHECK(problems.size() == 8);  // a codec each
  for (const Problem& problem : problems) CHECK(problem.code == ErrorCode::package);
  UnpackOptions cancel = replace;
  cancel.progress = [](std::uint64_t done, std::uint64_t) { return done == 0; };
  CHECK_THROWS_AS(unpack(fixture.output, plain, builtin_registry(), cancel), Cancelled);
  CHECK(read_file(plain) == "earlier");
  CHECK(read_file(fixture.output) == bytes);
  unpack(fixture.output, plain, builtin_registry(), replace);
  CHECK(Checkpoint::open(plain).tensors().size() == fixture.open().tensors().size());
}

TEST_CASE("the file is the same for any number of workers") {
  SafetensorsBuilder builder;
  add_floats(builder, "large", DType::f32, {1100, 8192}, 1);  // three units of work
  add_floats(builder, "rows", DType::f16, {3, 200'000}, 2);   // rows longer than a piece
  add_floats(builder, "vector", DType::bf16, {5'000'000}, 3);
  add_floats(builder, "small", DType::f32, {4, 33}, 4);
  builder.add("empty", DType::f16, {0, 4}, std::string_view());
  const PackFixture fixture(builder);
  for (const char* format : {"q8_0", "ternary", "keep", "ternary:absmean", "f16"}) {
    CAPTURE(format);
    PackOptions again;
    again.replace = true;
    fixture.pack(one_format(format), again);
    UnpackOptions options;
    options.replace = true;
    options.jobs = 1;
    const std::string plain = fixture.dir.file("plain.safetensors");
    unpack(fixture.output, plain, builtin_registry(), options);
    const std::string expected = read_file(plain);
    for (const unsigned jobs : {2u, 8u}) {
      options.jobs = jobs;
      unpack(fixture.output, plain, builtin_registry(), options);
      CHECK(read_file(plain) == expected);
    }
  }
}

TEST_CASE("a ceiling on memory that not even one worker fits leaves nothing behind") {
  const PackFixture fixture(mixed_tensors());
  fixture.pack(mixed_policy());
  UnpackOptions options;
  options.max_memory = 1000;
  const std::string plain = fixture.dir.file("plain.safetensors");
  const auto problems =
      problems_of([&] { unpack(fixture.output, plain, builtin_registry(), options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(fixture.dir.list().size() == 2);
  options.max_memory = std::uint64_t{1} << 30;
  unpack(fixture.output, plain, builtin_registry(), options);
}
