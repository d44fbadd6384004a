// The same model and the same code under two profiles: the sample checkpoint is packed once, and
// its forward pass gives the same logits however its weights are in memory.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../../examples/two_profiles/tiny_llama.h"
#include "kernel_samples.h"
#include "synps/artifact.h"
#include "synps/builtin_codecs.h"
#include "synps/builtin_kernels.h"
#include "synps/checkpoint.h"
#include "synps/pack.h"
#include "synps/plan.h"
#include "synps/policy.h"
#include "synps/trace.h"
#include "temp_dir.h"

namespace synps::testing {
namespace {

const std::string kExamples = std::string(SYNPS_SOURCE_DIR) + "/examples";

/// The kernels of a machine that is fastest on q4_0 in rows8, as those with AVX2 are, whatever this
/// one is.
KernelRegistry kernels_that_want_rows8() {
  KernelRegistry registry;
  for (Kernel kernel : builtin_kernels().all()) {
    kernel.wanted = kernel.key.codec == "q4_0:q4_0" && kernel.key.order == Order::rows8;
    registry.add(kernel);
  }
  return registry;
}

void pack_sample(const std::string& output, const PackTarget& target) {
  const Checkpoint checkpoint = Checkpoint::open(kExamples + "/tiny-llama");
  const Policy policy = Policy::load(kExamples + "/two_profiles/synps.toml", builtin_registry());
  PlanOptions options;
  options.target = target;
  pack(checkpoint, make_plan(checkpoint, policy, options), output);
}

OpenOptions options_for(const std::optional<Profile>& profile, const KernelRegistry& kernels) {
  OpenOptions options;
  options.profile = profile;
  options.kernels = &kernels;
  options.budget = std::uint64_t{64} << 20;  // whatever this machine has
  return options;
}

std::vector<float> logits(const Artifact& model) {
  ThreadPool pool(3);
  example::TinyLlama llama(model, &pool);
  std::vector<float> last;
  for (const std::size_t token : {1, 17, 300, 42}) last = llama.next(token);
  model.end_invocation();
  return last;
}

}  // namespace

TEST_CASE("desktop relays what mobile_2gb maps as stored, and both compute the same bits") {
  const TempDir dir;
  const std::string file = dir.file("tiny.synps");
  pack_sample(file, {});
  const KernelRegistry kernels = kernels_that_want_rows8();
  const Artifact desktop = Artifact::open(file, options_for(profiles::desktop(), kernels));
  const Artifact mobile = Artifact::open(file, options_for(profiles::mobile_2gb(), kernels));
  std::size_t relaid = 0;
  for (std::size_t i = 0; i < desktop.size(); ++i) {
    const WeightView a = desktop.weight(i);
    const WeightView b = mobile.weight(i);
    CAPTURE(a.path());
    CHECK(a.form().residency == Residency::heap);
    CHECK(b.form().residency == Residency::mapped);
    CHECK(b.form().order == Order::rows1);
    const bool wanted = a.stored().codec.id() == "q4_0:q4_0";
    CHECK(a.form().order == (wanted ? Order::rows8 : Order::rows1));
    if (wanted) ++relaid;
  }
  CHECK(relaid == 11);  // gate and up of five layers, and the head
  CHECK(desktop.plan().total.resident > 0);
  CHECK(desktop.plan().total.mapped == 0);
  CHECK(mobile.plan().total.resident == 0);

  const std::vector<float> expected = logits(desktop);
  REQUIRE(expected.size() == 512);
  CHECK(expected[0] != expected[1]);
  CHECK(same_results(logits(mobile), expected));
  for (const auto& profile :
       {std::optional<Profile>(), std::optional(profiles::native()),
        std::optional(profiles::edge()), std::optional(profiles::mobile_2gb())})
    CHECK(same_results(logits(Artifact::open(file, options_for(profile, builtin_kernels()))),
                       expected));
  const KernelRegistry dense = builtin_kernels().only(is_dense);
  const Artifact f32 = Artifact::open(file, options_for(profiles::edge(), dense));
  CHECK(f32["lm_head.weight"].decision().dequantizes);
  CHECK(same_results(logits(f32), expected));
}

TEST_CASE("an artifact that is packed for this target loads without a conversion") {
  const TempDir dir;
  const KernelRegistry wanting = kernels_that_want_rows8();
  std::vector<float> expected;
  for (const KernelRegistry* kernels : {&wanting, &builtin_kernels()}) {
    const std::string file = dir.file(kernels == &wanting ? "wanting" : "builtin");
    PackTarget target;
    target.capabilities = kernels->capabilities(TargetRequest::native);
    pack_sample(file, target);
    for (const auto& profile : {std::optional<Profile>(), std::optional(profiles::desktop()),
                                std::optional(profiles::mobile_2gb())}) {
      RecordingTraceSink trace;
      OpenOptions options = options_for(profile, *kernels);
      options.trace = &trace;
      const Artifact model = Artifact::open(file, options);
      CHECK(trace.events().empty());
      CHECK(model.plan().total.conversion == 0);
      if (kernels == &wanting) CHECK(model["lm_head.weight"].form().order == Order::rows8);
      if (expected.empty()) expected = logits(model);
      CHECK(same_results(logits(model), expected));
    }
  }
}

}  // namespace synps::testing
