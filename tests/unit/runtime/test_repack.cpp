// repack() and requantize() on storages in memory: what they give, and what they keep.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "storage_samples.h"
#include "synps/codec_registry.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};

/// Shapes with whole groups of eight rows and without, vectors, ranks, and rows longer than what is
/// converted at a time.
std::vector<Shape> sample_shapes() {
  return {Shape{256},      Shape{1, 256},     Shape{7, 512},   Shape{8, 256},
          Shape{19, 768},  Shape{3, 5, 256},  Shape{300, 512}, Shape{2, 8, 256},
          Shape{9, 17152}, Shape{2, 133'120}, Shape{600'064}};
}

std::vector<Order> orders_of(const Codec& codec, const Shape& shape) {
  if (can_be_rows8(codec, {"w", shape, DType::f32})) return {Order::rows1, Order::rows8};
  return {Order::rows1};
}

bool stores(const Codec& codec, const Shape& shape) {
  return codec.supports({"w", shape, DType::f32}).ok;
}

}  // namespace

TEST_CASE("what is wanted already is the same storage") {
  for (const Codec* codec : builtin_registry().all()) {
    CAPTURE(codec->info().id());
    const SharedStorage storage = sample_storage(*codec, Shape{8, 512});
    CHECK(repack(storage, {}) == storage);
    CHECK(repack(storage, {.codec = codec}) == storage);
    CHECK(requantize(storage, {.codec = codec}) == storage);
    CHECK(requantize(storage, {.codec = codec,
                               .order = Order::rows1,
                               .orientation = Orientation::out_in,
                               .compress = CompressRequest{}}) == storage);
    if (!can_be_rows8(*codec, storage->weight())) continue;
    const SharedStorage rows8 = sample_storage(*codec, Shape{8, 512}, Order::rows8);
    CHECK(requantize(rows8, {.codec = codec}) == rows8);
    CHECK(repack(rows8, {.order = Order::rows8}) == rows8);
  }
}

TEST_CASE("repack to f32 gives the bits that the codec decodes, of every codec that f32 holds") {
  const Codec& f32 = builtin("f32");
  ThreadPool pool(3);
  std::size_t codecs = 0;
  for (const Codec* codec : builtin_registry().all()) {
    if (codec == &f32 || codec->info().dense_dtype == DType::f64) continue;
    ++codecs;
    for (const Shape& shape : sample_shapes()) {
      if (!stores(*codec, shape)) continue;
      const auto bytes = made_up_components(*codec, {"w", shape, DType::f32}, 3);
      std::vector<float> values(shape.elements());
      const Weight weight{"w", shape, DType::f32};
      const std::vector<std::span<const std::byte>> in(bytes.begin(), bytes.end());
      codec->decode({&weight, 0, shape.rows(), shape.columns()}, in, values);
      const SharedStorage plain = storage_of(weight, codec, bytes);
      CAPTURE(codec->info().id());
      CAPTURE(shape.to_string());
      CHECK(same_bits(plain->decode(), values));
      for (const Order order : orders_of(*codec, shape)) {
        const SharedStorage ordered = repack(plain, {.order = order});
        const SharedStorage squeezed = repack(ordered, {.compress = kZstd});
        for (const SharedStorage& from : {ordered, squeezed}) {
          const SharedStorage made =
              repack(from, {.codec = &f32, .compress = CompressRequest{}}, {.executor = &pool});
          CHECK(made->codec() == &f32);
          CHECK(same_bits(made->decode(), values));
          CHECK(std::memcmp(made->component(0).data(), values.data(), values.size() * 4) == 0);
        }
      }
    }
  }
  CHECK(codecs == builtin_registry().all().size() - 2);
}

TEST_CASE("orders and compression come and go without a bit of difference") {
  ThreadPool pool(4);
  for (const Codec* codec : builtin_registry().all())
    for (const Shape& shape : sample_shapes()) {
      if (!stores(*codec, shape)) continue;
      CAPTURE(codec->info().id());
      CAPTURE(shape.to_string());
      const SharedStorage rows1 = sample_storage(*codec, shape);
      const auto bytes = bytes_of_storage(*rows1);
      for (const Order order : orders_of(*codec, shape)) {
        const SharedStorage asked = sample_storage(*codec, shape, order);
        const SharedStorage ordered = repack(rows1, {.order = order});
        CHECK(bytes_of_storage(*ordered) == bytes_of_storage(*asked));
        const SharedStorage squeezed =
            repack(rows1, {.order = order, .compress = kZstd}, {.executor = &pool});
        CHECK(squeezed->compression() == kZstd);
        CHECK(squeezed->order() == order);
        CHECK(same_bits(squeezed->decode(), asked->decode()));
        const SharedStorage back = repack(
            squeezed, {.order = Order::rows1, .compress = CompressRequest{}}, {.executor = &pool});
        CHECK(bytes_of_storage(*back) == bytes);
      }
    }
}

TEST_CASE("requantize encodes what decode gives, however many threads there are") {
  ThreadPool pool(3);
  const std::vector<std::string_view> sources = {"f32", "bf16", "q4_0", "q2_k", "ternary:planes"};
  for (const Codec* target : builtin_registry().all()) {
    if (!target->info().encodes) continue;
    for (const std::string_view name : sources)
      for (const Shape& shape : sample_shapes()) {
        const Codec& source = builtin(name);
        if (&source == target || !stores(source, shape) || !stores(*target, shape)) continue;
        CAPTURE(name);
        CAPTURE(target->info().id());
        CAPTURE(shape.to_string());
        const SharedStorage from =
            repack(sample_storage(source, shape, orders_of(source, shape)[0]),
                   {.compress = shape.rank() == 2 ? kZstd : CompressRequest{}});
        WeightToStore wanted;
        wanted.shape = shape;
        wanted.codec = target->info().id();
        wanted.values = from->decode();
        for (const Order order : orders_of(*target, shape)) {
          wanted.order = order;
          const SharedStorage made =
              requantize(from, {.codec = target, .order = order, .compress = CompressRequest{}},
                         {.allow_overflow = true, .executor = &pool});
          CHECK(bytes_of_storage(*made) == encode_weight(wanted, builtin_registry()));
          const SharedStorage squeezed =
              requantize(from, {.codec = target, .order = order, .compress = kZstd},
                         {.allow_overflow = true, .executor = &pool});
          CHECK(squeezed->bytes() != 0);
          CHECK(bytes_of_storage(*repack(squeezed, {.compress = CompressRequest{}})) ==
                bytes_of_storage(*made));
        }
      }
  }
}

TEST_CASE("values are encoded as an f32 storage of them is") {
  const Shape shape{16, 256};
  const std::vector<float> values = test_values(shape.elements(), 5);
  for (const Codec* codec : builtin_registry().all()) {
    if (!codec->info().encodes) continue;
    CAPTURE(codec->info().id());
    const SharedStorage made = encode_values({"w", shape, DType::f16}, values, {.codec = codec});
    CHECK(made->weight() == Weight{"w", shape, DType::f16});
    CHECK(made->codec() == codec);
    CHECK(made->history().empty());
    WeightToStore wanted;
    wanted.shape = shape;
    wanted.codec = codec->info().id();
    wanted.values = values;
    CHECK(bytes_of_storage(*made) == encode_weight(wanted, builtin_registry()));
  }
}

TEST_CASE("path, shape, logical dtype and device stay, and the result is on the heap") {
  const Shape shape{8, 256};
  const auto bytes = made_up_components(builtin("bf16"), {"w", shape, DType::bf16}, 1);
  StorageParts parts;
  parts.weight = {"model.w", shape, DType::bf16};
  parts.codec = &builtin("bf16");
  parts.orientation = Orientation::in_out;
  parts.residency = Residency::mapped;
  parts.components = {bytes[0]};
  const SharedStorage mapped = WeightStorage::of(parts);
  for (const SharedStorage& made :
       {repack(mapped, {.codec = &builtin("f32")}), requantize(mapped, {.codec = &builtin("q4_0")}),
        repack(mapped, {.compress = kZstd}),
        repack(mapped, {.orientation = Orientation::out_in})}) {
    CHECK(made->weight() == mapped->weight());
    CHECK(made->device() == "local");
    CHECK(made->residency() == Residency::heap);
  }
  const SharedStorage turned = repack(mapped, {.orientation = Orientation::out_in});
  CHECK(turned->orientation() == Orientation::out_in);
  CHECK(turned->component(0).data() != mapped->component(0).data());  // it owns its bytes
  CHECK(bytes_of_storage(*turned) == bytes);
  const SharedStorage again = repack(turned, {.orientation = Orientation::in_out});
  CHECK(again->component(0).data() == turned->component(0).data());  // no need for a copy
  CHECK(requantize(mapped, {.codec = &builtin("q8_0")})->orientation() == Orientation::in_out);
}

TEST_CASE("what is not asked for stays, as far as the new codec has it") {
  const Shape shape{16, 512};
  const SharedStorage rows8 =
      repack(sample_storage(builtin("q4_0"), shape, Order::rows8), {.compress = kZstd});
  const SharedStorage q8_0 = requantize(rows8, {.codec = &builtin("q8_0")});
  CHECK(q8_0->order() == Order::rows8);
  CHECK(q8_0->compression() == kZstd);
  const SharedStorage f32 = repack(rows8, {.codec = &builtin("f32")});
  CHECK(f32->order() == Order::rows1);  // dense codecs have no other
  CHECK(f32->compression() == kZstd);
}

TEST_CASE("each codec that rounded is in the history of what comes after it") {
  const auto ids = [](const SharedStorage& storage) {
    std::vector<std::string> names;
    for (const CodecRef& each : storage->history()) names.push_back(each.id());
    return names;
  };
  using Names = std::vector<std::string>;
  const Shape shape{8, 256};
  const SharedStorage f16 =
      encode_values({"w", shape, DType::f16}, test_values(shape.elements()), {&builtin("f16")});
  CHECK(ids(f16) == Names{});
  CHECK(ids(repack(f16, {&builtin("f32")})) == Names{});
  const SharedStorage q4_0 = requantize(f16, {&builtin("q4_0")});
  CHECK(ids(q4_0) == Names{});
  const SharedStorage q8_0 = requantize(q4_0, {&builtin("q8_0")});
  CHECK(ids(q8_0) == Names{"q4_0:q4_0"});
  CHECK(ids(repack(q8_0, {.compress = kZstd})) == Names{"q4_0:q4_0"});
  const SharedStorage f32 = repack(q8_0, {&builtin("f32")});
  CHECK(ids(f32) == Names{"q4_0:q4_0", "q8_0:q8_0"});
  // f32 holds what q8_0 gave.
  CHECK(ids(requantize(f32, {&builtin("ternary:tq2_0")})) == Names{"q4_0:q4_0", "q8_0:q8_0"});
  const SharedStorage bf16 = requantize(f16, {&builtin("bf16")});
  CHECK(ids(requantize(bf16, {&builtin("q8_0")})) == Names{"bf16:bf16"});
}

TEST_CASE("weights without elements, and those that nothing decodes, are kept as they are") {
  const SharedStorage empty = storage_of({"e", Shape{0, 4}, DType::f16}, &builtin("f16"), {{}});
  CHECK(requantize(empty, {.codec = &builtin("q8_0"), .compress = kZstd}) == empty);
  CHECK(repack(empty, {.orientation = Orientation::in_out})->orientation() == Orientation::in_out);
  CHECK(empty->decode().empty());

  std::vector<std::byte> ids(300'000 * 8);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::byte>(i / 8 % 251);
  const SharedStorage kept = storage_of({"ids", Shape{300, 1000}, DType::i64}, nullptr, {ids});
  const SharedStorage squeezed = repack(kept, {.compress = kZstd});
  CHECK(squeezed->bytes() < kept->bytes());
  CHECK(bytes_of_storage(*repack(squeezed, {.compress = CompressRequest{}})).at(0) == ids);
}

TEST_CASE("a conversion is traced, once") {
  RecordingTraceSink trace;
  const SharedStorage q4_0 = sample_storage(builtin("q4_0"), Shape{16, 512});
  repack(q4_0, {.codec = &builtin("q4_0")}, {.trace = &trace});
  CHECK(trace.events().empty());
  const SharedStorage squeezed =
      repack(q4_0, {.order = Order::rows8, .compress = kZstd}, {.trace = &trace});
  requantize(squeezed, {.codec = &builtin("q8_0"), .compress = CompressRequest{}},
             {.trace = &trace});
  repack(q4_0, {.codec = &builtin("f32")}, {.trace = &trace});
  const auto events = trace.events();
  REQUIRE(events.size() == 3);
  CHECK(events[0].weight == "w");
  CHECK(events[0].kind == "relayout");
  CHECK(events[0].from == "q4_0:q4_0 rows1");
  CHECK(events[0].to == "q4_0:q4_0 rows8 zstd");
  CHECK(events[0].bytes_before == 16 * 512 / 32 * 18);
  CHECK(events[0].bytes_after == squeezed->bytes());
  CHECK(events[1].kind == "encode");
  CHECK(events[1].from == "q4_0:q4_0 rows8 zstd");
  CHECK(events[1].to == "q8_0:q8_0 rows8");
  CHECK(events[2].kind == "dequantize");
  CHECK(events[2].bytes_after == 16 * 512 * 4);
}

}  // namespace synps::testing
