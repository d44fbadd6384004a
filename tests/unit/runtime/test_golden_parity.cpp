// Whatever form a weight is loaded in, with whatever kernels, and however many threads: its values
// and its products are the same bits.

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "kernel_samples.h"
#include "load_samples.h"
#include "synps/artifact.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

constexpr std::uint64_t kVectors = 2;
constexpr unsigned kMostThreads = 4;

/// What must come out for a weight.
struct Expected {
  std::vector<float> values;
  std::vector<float> y;   ///< matvec with the first vector
  std::vector<float> ys;  ///< matmul
  std::vector<float> y8;  ///< matvec_q8; none without a kernel
};

std::vector<float> decoded(const WeightToStore& weight,
                           const std::vector<std::vector<std::byte>>& components) {
  const Codec& codec = *builtin_registry().resolve(weight.codec);
  const Weight logical{weight.path, weight.shape, weight.dtype};
  std::vector<float> values(weight.shape.elements());
  const std::vector<std::span<const std::byte>> in(components.begin(), components.end());
  codec.decode({&logical, 0, weight.shape.rows(), weight.shape.columns()}, in, values);
  return values;
}

Expected expected_of(WeightToStore weight, const std::vector<float>& x) {
  weight.order = Order::rows1;
  const std::uint64_t rows = weight.shape.rows();
  const std::uint64_t columns = weight.shape.columns();
  const auto components = encode_weight(weight, builtin_registry());
  Expected expected;
  expected.values = decoded(weight, components);
  expected.y = product_by_definition(expected.values, x.data(), columns);
  for (std::uint64_t v = 0; v < kVectors; ++v)
    for (const float y : product_by_definition(expected.values, x.data() + v * columns, columns))
      expected.ys.push_back(y);
  const Kernel* q8 = builtin_kernels().find(
      {KernelOp::matvec_q8, weight.codec, Order::rows1, Target::cpu_portable});
  if (q8 != nullptr) {
    const SampleMatrix matrix(rows, columns, components);
    expected.y8 = product(*q8, matrix.view(), std::span(x).first(columns));
  }
  return expected;
}

class Parity {
 public:
  explicit Parity(const Shape& shape, unsigned most_threads = kMostThreads)
      : samples_(samples_of_all_codecs(shape)),
        columns_(shape.columns()),
        x_(test_values(kVectors * columns_, 77)) {
    build_artifact(file(), samples_);
    for (const WeightToStore& sample : samples_) expected_[sample.path] = expected_of(sample, x_);
    for (unsigned threads = 1; threads <= most_threads; ++threads)
      pools_.push_back(std::make_unique<ThreadPool>(threads));
  }

  std::string file() const { return dir_.file("m.synps"); }

  void check(const OpenOptions& options) {
    const Artifact artifact = Artifact::open(file(), options);
    REQUIRE(artifact.size() == samples_.size());
    for (const WeightView weight : artifact) check(weight);
  }

  /// How weights were loaded, such as "relaid".
  const std::set<std::string>& seen() const { return seen_; }

 private:
  void check(const WeightView& weight) {
    CAPTURE(weight.path());
    CAPTURE(to_string(weight.form().encoding));
    CAPTURE(to_string(weight.form().order));
    CAPTURE(to_string(weight.form().residency));
    note(weight);
    const Expected& expected = expected_.at(weight.path());
    CHECK(same_results(weight.decode(), expected.values));
    for (const std::uint64_t row :
         {std::uint64_t{0}, std::uint64_t{9}, weight.shape().rows() - 1}) {
      std::vector<float> one(columns_);
      weight.decode({row, 1}, one);
      const auto begin = expected.values.begin() + static_cast<std::ptrdiff_t>(row * columns_);
      CHECK(same_results(one, {begin, begin + static_cast<std::ptrdiff_t>(columns_)}));
    }
    check_products(weight, expected, nullptr);
    for (const auto& pool : pools_) check_products(weight, expected, pool.get());
  }

  void check_products(const WeightView& weight, const Expected& expected, Executor* executor) {
    const std::uint64_t rows = weight.shape().rows();
    const auto x = std::span<const float>(x_).first(columns_);
    std::vector<float> y(rows, -1.0f);
    weight.matvec(x, y, executor);
    CHECK(same_results(y, expected.y));
    std::vector<float> ys(kVectors * rows, -1.0f);
    weight.matmul(kVectors, x_, ys, executor);
    CHECK(same_results(ys, expected.ys));
    if (weight.activation_block() == 0) {
      CHECK(thrown_problem([&] { weight.matvec_q8(x, y, executor); }).code == ErrorCode::usage);
      return;
    }
    seen_.insert("q8");
    std::fill(y.begin(), y.end(), -1.0f);
    weight.matvec_q8(x, y, executor);
    CHECK(same_results(y, expected.y8));
  }

  void note(const WeightView& weight) {
    const FormDecision& decision = weight.decision();
    seen_.insert(std::string(to_string(decision.form.residency)));
    if (decision.inflates) seen_.insert("inflated");
    if (decision.dequantizes) seen_.insert("dequantized");
    if (decision.relays) seen_.insert("to " + std::string(to_string(decision.form.order)));
    if (decision.inflates && decision.relays) seen_.insert("inflated and relaid");
    if (!decision.converts()) seen_.insert("as stored");
  }

  TempDir dir_;
  std::vector<WeightToStore> samples_;
  std::uint64_t columns_;
  std::vector<float> x_;
  std::map<std::string, Expected> expected_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  std::set<std::string> seen_;
};

}  // namespace

TEST_CASE("every codec, order, compression, profile, registry and number of threads") {
  Parity parity(Shape{11, 512});
  const std::vector<NamedKernels> registries = sample_registries();
  for (const NamedKernels& each : registries)
    for (const Profile& profile : {profiles::desktop(), profiles::native(), profiles::edge(),
                                   lenient(profiles::mobile_2gb())}) {
      CAPTURE(each.name);
      CAPTURE(profile.name);
      OpenOptions options;
      options.kernels = &each.kernels;
      options.profile = profile;
      options.budget = std::uint64_t{1} << 40;
      parity.check(options);
    }
  for (const NamedKernels& each : registries) {
    CAPTURE(each.name);
    OpenOptions options;
    options.kernels = &each.kernels;
    parity.check(options);
  }
  CHECK(parity.seen() == std::set<std::string>{"as stored", "dequantized", "heap", "inflated",
                                               "inflated and relaid", "mapped", "q8", "to rows1",
                                               "to rows8"});
}

TEST_CASE("what callers ask for by path gives the same bits") {
  Parity parity(Shape{11, 768}, 1);
  for (const bool dequantize : {false, true})
    for (const OrderRequest order :
         {OrderRequest::automatic, OrderRequest::as_stored, OrderRequest::kernel_feed})
      for (const ResidencyRequest residency :
           {ResidencyRequest::automatic, ResidencyRequest::heap, ResidencyRequest::mapped}) {
        OpenOptions options;
        options.overrides = {{nullptr, {order, residency, dequantize}}};
        parity.check(options);
        options.profile = profiles::edge();
        options.budget = std::uint64_t{1} << 40;
        parity.check(options);
      }
}

}  // namespace synps::testing
