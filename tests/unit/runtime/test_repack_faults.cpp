// What repack() and requantize() refuse: before a byte of the source is read, where that can be.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "storage_samples.h"
#include "synps/codec_package.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};

/// A storage of one component whose bytes end the program when they are read.
class UnreadStorage {
 public:
  UnreadStorage(std::string_view codec, const Shape& shape, std::string device = "local",
                DType dtype = DType::f32)
      : weight_{"model.w", shape, dtype},
        codec_(codec.empty() ? nullptr : &builtin(codec)),
        memory_(codec_ != nullptr ? codec_->components(weight_).at(0).bytes : *shape.bytes(dtype)) {
    REQUIRE(memory_.ok());
    StorageParts parts;
    parts.weight = weight_;
    parts.codec = codec_;
    parts.device = std::move(device);
    parts.components = {memory_.bytes()};
    storage_ = WeightStorage::of(std::move(parts));
  }
  const SharedStorage& get() const noexcept { return storage_; }

 private:
  Weight weight_;
  const Codec* codec_;
  Unreadable memory_;
  SharedStorage storage_;
};

/// Gives other sizes for rows than it stores.
class LyingCodec final : public Codec {
 public:
  explicit LyingCodec(std::uint64_t extra) : extra_(extra) { info_.package = "lying"; }
  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override { return old_.supports(weight); }
  std::vector<Component> components(const Weight& weight) const override {
    return old_.components(weight);
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    // Of whole rows, or only of parts of them.
    const bool part = columns < kColumns;
    return old_.row_bytes(component, columns) + (part == parts_ ? extra_ : 0);
  }
  std::uint64_t row_granule() const noexcept override { return old_.row_granule(); }
  void encode(const Piece& piece, std::span<const float> values, const Analysis*,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    if (!parts_) old_.encode(piece, values, nullptr, out, report);
  }
  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    if (!parts_) old_.decode(piece, in, out);
  }

  static constexpr std::uint64_t kColumns = 262'144;  // a row in several parts
  bool parts_ = false;

 private:
  const Codec& old_ = builtin("q8_0");
  CodecInfo info_ = old_.info();
  std::uint64_t extra_;
};

Problem repack_problem(const SharedStorage& source, const StorageTarget& target) {
  return thrown_problem([&] { repack(source, target); });
}

Problem requantize_problem(const SharedStorage& source, const StorageTarget& target,
                           const ConversionOptions& options = {}) {
  return thrown_problem([&] { requantize(source, target, options); });
}

SharedStorage f32_of(std::vector<float> values, const Shape& shape) {
  return encode_values({"model.w", shape, DType::f32}, values, {&builtin("f32")});
}

}  // namespace

TEST_CASE("repack refuses what may round, unread, and names requantize") {
  const UnreadStorage f32("f32", Shape{16, 256});
  for (const Codec* target : builtin_registry().all()) {
    if (target == &builtin("f32") || !target->info().encodes) continue;
    CAPTURE(target->info().id());
    const Problem problem = repack_problem(f32.get(), {.codec = target});
    CHECK(problem.code == ErrorCode::policy);
    CHECK(problem.what == "repack never changes a value: 'model.w'");
    CHECK(problem.hint.find("requantize") != std::string::npos);
  }
  const UnreadStorage f16("f16", Shape{16, 256});
  CHECK(to_string(repack_problem(f16.get(), {&builtin("bf16")})) ==
        "repack never changes a value: 'model.w': found f16 to bf16; requantize does it");
  CHECK(repack_problem(UnreadStorage("f64", Shape{4}, "local", DType::f64).get(), {&builtin("f32")})
            .found == "f64 to f32");
}

TEST_CASE("codecs that are only read are refused, unread") {
  const UnreadStorage f32("f32", Shape{16, 256});
  for (const Codec* target : builtin_registry().all()) {
    if (target->info().encodes) continue;
    CAPTURE(target->info().id());
    for (const Problem& problem :
         {repack_problem(f32.get(), {target}), requantize_problem(f32.get(), {target})}) {
      CHECK(problem.code == ErrorCode::policy);
      CHECK(problem.what == "codec is for reading only: 'model.w'");
    }
  }
}

TEST_CASE("shapes that a codec cannot store are refused in the words of pack, unread") {
  const UnreadStorage odd("f16", Shape{16, 48});
  CHECK(to_string(requantize_problem(odd.get(), {&builtin("q8_0")})) ==
        "the codec cannot store a weight: 'model.w' (q8_0): found row length 48 is not a multiple "
        "of 32, the block of q8_0");
  const UnreadStorage scalar("f32", Shape{});
  CHECK(requantize_problem(scalar.get(), {&builtin("q4_0")}).found ==
        "a scalar has no row of 32 elements that q4_0 could pack");
  const UnreadStorage long_row("f32", Shape{(std::uint64_t{1} << 24) + 1});
  CHECK(requantize_problem(long_row.get(), {&builtin("ternary:ternary")}).what ==
        "the codec cannot store a weight: 'model.w'");
}

TEST_CASE("orders and levels that there are not are refused, unread") {
  const UnreadStorage dense("f16", Shape{16, 256});
  const UnreadStorage blocks("q4_0", Shape{16, 256});
  const UnreadStorage few("q4_0", Shape{7, 256});
  const UnreadStorage kept("", Shape{16, 256}, "local", DType::i32);
  for (const UnreadStorage* each : {&dense, &few, &kept}) {
    const Problem problem = repack_problem(each->get(), {.order = Order::rows8});
    CHECK(problem.code == ErrorCode::policy);
    CHECK(problem.what == "a weight cannot have this order");
    CHECK(problem.field == "model.w");
  }
  CHECK(requantize_problem(blocks.get(), {.codec = &builtin("f16"), .order = Order::rows8}).what ==
        "a weight cannot have this order");
  for (const int level : {0, 20, -1}) {
    const StorageTarget target{.compress = CompressRequest{Compression::zstd, level}};
    CHECK(repack_problem(blocks.get(), target).code == ErrorCode::usage);
  }
}

TEST_CASE("a weight on another device, or that nothing decodes, is refused, unread") {
  const UnreadStorage away("q4_0", Shape{16, 256}, "npu");
  for (const StorageTarget& target : {StorageTarget{.codec = &builtin("f32")},
                                      StorageTarget{.order = Order::rows8}, StorageTarget{}}) {
    CHECK(to_string(repack_problem(away.get(), target)) ==
          "a weight that is not on this host (model.w): found device 'npu', want device 'local'; "
          "bring it to the host first");
    CHECK(requantize_problem(away.get(), target).code == ErrorCode::usage);
  }
  CHECK(thrown_problem([&] { away.get()->decode(); }).code == ErrorCode::usage);
  CHECK(thrown_problem([&] { away.get()->component(0); }).code == ErrorCode::usage);

  const UnreadStorage kept("", Shape{16, 256}, "local", DType::i32);
  CHECK(repack_problem(kept.get(), {&builtin("f32")}).what == "nothing decodes this weight");
  CHECK(requantize_problem(kept.get(), {&builtin("q8_0")}).code == ErrorCode::usage);
  CHECK(requantize_problem(nullptr, {}).code == ErrorCode::usage);
}

TEST_CASE("values that a codec cannot store are refused as pack refuses them") {
  std::vector<float> values = test_values(8 * 64, 2);
  values[3 * 64 + 5] = 70'000;
  values[7 * 64 + 1] = -1e30f;
  const SharedStorage large = f32_of(values, Shape{8, 64});
  const Problem overflow = requantize_problem(large, {&builtin("f16")});
  CHECK(overflow.code == ErrorCode::checkpoint);
  CHECK(to_string(overflow) ==
        "values overflow f16 (model.w): found 70000 at element 197 [3, 5], the first of 2, want "
        "values that stay finite; use a codec with a wider range, such as f32, or set "
        "allow_overflow");
  ValueReport met;
  const SharedStorage allowed =
      requantize(large, {&builtin("f16")}, {.allow_overflow = true, .values = &met});
  CHECK(met.overflow.count == 2);
  CHECK(std::isinf(allowed->decode()[197]));

  values[0] = std::numeric_limits<float>::quiet_NaN();
  const Problem nan = requantize_problem(f32_of(values, Shape{8, 64}), {&builtin("q8_0")},
                                         {.allow_overflow = true});
  CHECK(nan.what == "q8_0 cannot store NaN and infinities");
  CHECK(nan.found.starts_with("NaN at element 0 [0, 0]"));

  // Of f64, also what f32 does not hold.
  const std::vector<double> wide = {1, 1e300, 1e-300, -1e301};
  std::vector<std::byte> bytes(32);
  std::memcpy(bytes.data(), wide.data(), 32);
  const SharedStorage f64 = storage_of({"w", Shape{4}, DType::f64}, &builtin("f64"), {bytes});
  CHECK(requantize_problem(f64, {&builtin("f32")}, {.values = &met}).found ==
        "1e+300 at element 1, the first of 2");
  CHECK(met.underflow.count == 1);
}

TEST_CASE("bytes that are not what the codec stores are refused") {
  StorageParts parts;
  parts.weight = {"model.w", Shape{16, 256}, DType::f32};
  parts.codec = &builtin("q4_0");
  const std::vector<std::byte> bytes(16 * 256 / 32 * 18);
  const auto refused = [&] {
    const Problem problem = thrown_problem([&] { WeightStorage::of(parts); });
    CHECK(problem.code == ErrorCode::usage);
    return problem.what;
  };
  CHECK(refused() == "not the components that the codec stores");
  parts.components = {std::span(bytes).first(bytes.size() - 1)};
  CHECK(refused() == "a component of the wrong size");
  parts.components = {bytes, bytes};
  CHECK(refused() == "not the components that the codec stores");
  parts.components = {bytes};
  CHECK_NOTHROW(WeightStorage::of(parts));
  parts.order = Order::rows8;
  CHECK_NOTHROW(WeightStorage::of(parts));
  parts.codec = &builtin("f32");
  CHECK(refused() == "a weight cannot have this order");
  parts.codec = &builtin("q4_0");
  parts.weight.shape = Shape{16, 33};
  CHECK(refused() == "the codec cannot store a weight: 'model.w'");
  CHECK(thrown_problem([] {
          encode_values({"w", Shape{4}, DType::f32}, std::vector<float>(3), {&builtin("f16")});
        }).what == "a component of the wrong size");
  CHECK(thrown_problem([] {
          encode_values({"w", Shape{3}, DType::f32}, std::vector<float>(3), {});
        }).code == ErrorCode::usage);
}

TEST_CASE("a codec that contradicts itself is found out") {
  const SharedStorage f32 =
      f32_of(test_values(2 * LyingCodec::kColumns, 1), Shape{2, LyingCodec::kColumns});
  for (const bool parts : {false, true}) {
    CAPTURE(parts);
    LyingCodec more(34);
    more.parts_ = parts;
    CHECK(requantize_problem(f32, {&more}).code == ErrorCode::package);
    // Storages that the codec is said to have made.
    std::vector<std::vector<std::byte>> bytes{
        std::vector<std::byte>(2 * LyingCodec::kColumns / 32 * 34)};
    StorageParts stored;
    stored.weight = f32->weight();
    stored.codec = &more;
    stored.components = {bytes[0]};
    if (parts) continue;  // whole rows are read
    CHECK(thrown_problem([&] { WeightStorage::of(stored)->decode(); }).code == ErrorCode::package);
  }
}

TEST_CASE("calls that make no sense are refused") {
  const SharedStorage q4_0 = sample_storage(builtin("q4_0"), Shape{16, 256});
  CHECK(thrown_problem([&] { q4_0->component(1); }).found == "number 1");
  std::vector<float> out(256);
  CHECK(thrown_problem([&] { q4_0->decode({16, 1}, out); }).what == "rows out of range");
  CHECK(thrown_problem([&] { q4_0->decode({0, 2}, out); }).what == "output of the wrong size");
  q4_0->decode({15, 1}, out);
  const std::vector<float> all = q4_0->decode();
  CHECK(same_bits(out, {all.end() - 256, all.end()}));
  const SharedStorage squeezed = repack(q4_0, {.compress = kZstd});
  CHECK(thrown_problem([&] { squeezed->component(0); }).found == "zstd");
}

}  // namespace synps::testing
