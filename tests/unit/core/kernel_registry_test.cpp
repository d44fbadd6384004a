#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "synps/error.h"
#include "synps/kernel.h"

namespace synps::testing {
namespace {

void nothing(const KernelCall&) {}

Kernel make_kernel(KernelOp op, const std::string& codec, Order order, Target target,
                   bool wanted = false, bool runnable = true) {
  Kernel kernel;
  kernel.key = {op, codec, order, target};
  kernel.wanted = wanted;
  kernel.dense = codec == "f16:f16";
  kernel.row_bytes = [](std::size_t, std::uint64_t columns) {
    return std::optional<std::uint64_t>(columns);
  };
  kernel.run = runnable ? nothing : nullptr;
  return kernel;
}

constexpr KernelOp kMatvec = KernelOp::matvec;
constexpr KernelOp kQ8 = KernelOp::matvec_q8;

/// Portable and AVX2 kernels of a packed codec, AVX2 wanting rows8; f16 everywhere; a codec that
/// NEON alone has.
KernelRegistry make_registry() {
  KernelRegistry registry;
  for (const Target target : all_targets()) {
    const bool here = target != Target::cpu_neon;
    registry.add(make_kernel(kMatvec, "f16:f16", Order::rows1, target, false, here));
    for (const Order order : {Order::rows1, Order::rows8})
      registry.add(make_kernel(kMatvec, "p:q", order, target,
                               target == Target::cpu_avx2 && order == Order::rows8, here));
  }
  registry.add(make_kernel(kQ8, "p:q", Order::rows1, Target::cpu_avx2));
  registry.add(make_kernel(kQ8, "p:q", Order::rows8, Target::cpu_avx2));
  registry.add(make_kernel(kMatvec, "p:n", Order::rows8, Target::cpu_neon, false, false));
  return registry;
}

}  // namespace

TEST_CASE("names of operations and targets, both ways") {
  for (const KernelOp op : {KernelOp::matvec, KernelOp::matmul, KernelOp::matvec_q8})
    CHECK(kernel_op_from(to_string(op)) == op);
  for (const Target target : all_targets()) {
    CHECK(target_from(to_string(target)) == target);
    CHECK(target_request_from(to_string(target)).has_value());
  }
  CHECK(target_request_from("cpu") == TargetRequest::cpu);
  CHECK(target_request_from("native") == TargetRequest::native);
  CHECK_FALSE(target_from("native").has_value());
  CHECK_FALSE(target_request_from("cpu-sse").has_value());
  CHECK(to_string(KernelKey{kQ8, "q8_0:q8_0", Order::rows8, Target::cpu_neon}) ==
        "matvec_q8 q8_0:q8_0 rows8 cpu-neon");
}

TEST_CASE("an empty registry is valid") {
  const KernelRegistry registry;
  CHECK(registry.empty());
  CHECK(registry.keys().empty());
  CHECK(registry.find({}) == nullptr);
  CHECK(registry.find_runnable(kMatvec, "f16:f16", Order::rows1) == nullptr);
  CHECK(registry.native() == Target::cpu_portable);
  for (const TargetRequest request :
       {TargetRequest::cpu, TargetRequest::cpu_portable, TargetRequest::cpu_avx2,
        TargetRequest::cpu_neon, TargetRequest::native}) {
    const Capabilities capabilities = registry.capabilities(request);
    CHECK(capabilities.empty());
    CHECK_FALSE(capabilities.feeds("f16:f16", Order::rows1));
    CHECK_FALSE(capabilities.wanted_order("f16:f16").has_value());
  }
}

TEST_CASE("kernels are found by their whole key") {
  const KernelRegistry registry = make_registry();
  const std::vector<KernelKey> keys = registry.keys();
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  CHECK(keys.size() == registry.all().size());
  for (const KernelKey& key : keys) {
    const Kernel* kernel = registry.find(key);
    REQUIRE(kernel != nullptr);
    CHECK(kernel->key == key);
  }
  CHECK(registry.find({kQ8, "p:q", Order::rows1, Target::cpu_neon}) == nullptr);
  CHECK(registry.find({KernelOp::matmul, "p:q", Order::rows1, Target::cpu_avx2}) == nullptr);
  KernelRegistry copy = registry;
  CHECK_THROWS_AS(copy.add(*registry.find({kMatvec, "p:q", Order::rows8, Target::cpu_avx2})),
                  Error);
}

TEST_CASE("what runs here") {
  const KernelRegistry registry = make_registry();
  CHECK(registry.native() == Target::cpu_avx2);
  CHECK(registry.find_runnable(kMatvec, "p:q", Order::rows8)->key.target == Target::cpu_avx2);
  CHECK(registry.find_runnable(kMatvec, "p:n", Order::rows8) == nullptr);
  const KernelRegistry portable =
      registry.only([](const Kernel& kernel) { return kernel.key.target != Target::cpu_avx2; });
  CHECK(portable.native() == Target::cpu_portable);
  CHECK(portable.find_runnable(kMatvec, "p:q", Order::rows8)->key.target == Target::cpu_portable);
}

TEST_CASE("capabilities of a target") {
  const KernelRegistry registry = make_registry();
  const Capabilities avx2 = registry.capabilities(TargetRequest::cpu_avx2);
  CHECK(avx2.feeds(kQ8, "p:q", Order::rows8));
  CHECK(avx2.feeds("p:q", Order::rows1));
  CHECK(avx2.wanted_order("p:q") == Order::rows8);
  CHECK(avx2.wanted_order("f16:f16") == Order::rows1);
  CHECK_FALSE(avx2.feeds("f16:f16", Order::rows8));
  CHECK_FALSE(avx2.feeds("p:n", Order::rows8));
  CHECK(registry.capabilities(TargetRequest::native) == avx2);

  const Capabilities neon = registry.capabilities(TargetRequest::cpu_neon);
  CHECK_FALSE(neon.feeds(kQ8, "p:q", Order::rows1));
  CHECK(neon.wanted_order("p:q") == Order::rows1);
  CHECK(neon.wanted_order("p:n") == Order::rows8);  // there is no other

  const Capabilities common = registry.capabilities(TargetRequest::cpu);
  CHECK(common.feeds(kMatvec, "p:q", Order::rows8));
  CHECK_FALSE(common.feeds(kQ8, "p:q", Order::rows8));
  CHECK_FALSE(common.feeds("p:n", Order::rows8));
  CHECK(common.wanted_order("p:q") == Order::rows1);
}

TEST_CASE("an order that one kernel wants and another does not is not wanted") {
  KernelRegistry registry = make_registry();
  registry.add(make_kernel(KernelOp::matmul, "p:q", Order::rows1, Target::cpu_avx2, true));
  CHECK(registry.capabilities(TargetRequest::cpu_avx2).wanted_order("p:q") == Order::rows1);
}

TEST_CASE("a portable kernel fills in for what a target lacks") {
  KernelRegistry registry = make_registry();
  registry.add(make_kernel(KernelOp::matmul, "p:q", Order::rows1, Target::cpu_portable));
  CHECK(
      registry.capabilities(TargetRequest::cpu_neon).feeds(KernelOp::matmul, "p:q", Order::rows1));
  CHECK(registry.capabilities(TargetRequest::cpu).feeds(KernelOp::matmul, "p:q", Order::rows1));
}

TEST_CASE("a smaller device has fewer kernels") {
  const KernelRegistry dense = make_registry().only(is_dense);
  CHECK_FALSE(dense.empty());
  const Capabilities capabilities = dense.capabilities(TargetRequest::cpu_avx2);
  CHECK(capabilities.feeds("f16:f16", Order::rows1));
  CHECK_FALSE(capabilities.wanted_order("p:q").has_value());
}

}  // namespace synps::testing
