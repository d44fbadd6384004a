// No memory is an error like others: every allocation that a call makes fails once.

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "failing_new.h"
#include "synps.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::build_artifact;
using testing::TempDir;
using testing::until_failure;
using testing::WeightToStore;

void build_model(const std::string& path) {
  std::vector<WeightToStore> weights;
  for (const char* codec : {"q8_0", "f16", "ternary:ternary"}) {
    WeightToStore weight;
    weight.path = std::string("a.weight.whose.name.is.long.") + codec;
    weight.shape = Shape{16, 64};
    weight.codec = codec;
    weight.values.assign(16 * 64, 0.5f);
    weight.residency = weights.empty() ? ResidencyRequest::heap : ResidencyRequest::mapped;
    if (weights.size() == 1) weight.compress = {Compression::zstd, 3};
    weights.push_back(std::move(weight));
  }
  build_artifact(path, weights, {{"a key", "and a value that is long"}});
}

/// Calls `call` with each of its allocations failing in turn, until one call makes them all.
template <typename Call>
void fail_each_allocation(const Call& call) {
  for (long allocation = 1;; ++allocation) {
    REQUIRE(allocation < 100'000);
    synps_error* error = nullptr;
    until_failure = allocation;
    const int code = call(&error);
    const bool failed = until_failure == 0;
    until_failure = 0;
    const std::string message = synps_error_message(error);
    const int code_of_error = synps_error_code(error);
    synps_error_free(error);
    CAPTURE(allocation);
    CAPTURE(message);
    CHECK(code == code_of_error);
    if (!failed) {
      CHECK(code == SYNPS_OK);
      CHECK(allocation > 1);
      return;
    }
    // What can do without the memory may.
    if (code != SYNPS_OK) {
      CHECK(code == SYNPS_ERROR_LIMIT);
      CHECK(message.find("memory") != std::string::npos);
    }
  }
}

TEST_CASE("a call that gets no memory says so, wherever it asks for some") {
  const TempDir folder;
  const std::string path = folder.file("model.synps");
  build_model(path);
  synps_options options{};
  options.struct_size = sizeof options;
  options.profile_name = "desktop";
  options.allow_over_budget = 1;
  // simdjson chooses its code once in a process, and ends it where it gets no memory for that.
  {
    synps_artifact* artifact = nullptr;
    synps_error* error = nullptr;
    REQUIRE(synps_open(path.c_str(), &options, &artifact, &error) == SYNPS_OK);
    synps_close(artifact);
  }
  fail_each_allocation([&](synps_error** error) {
    synps_artifact* artifact = nullptr;
    const int code = synps_open(path.c_str(), &options, &artifact, error);
    synps_close(artifact);
    return code;
  });

  fail_each_allocation([&](synps_error** error) {
    // The artifact is a new one, whose first uses these are.
    const long allocation = until_failure.exchange(0);
    synps_artifact* artifact = nullptr;
    if (synps_open(path.c_str(), &options, &artifact, error) != SYNPS_OK) std::abort();
    until_failure = allocation;
    int code = SYNPS_OK;
    for (size_t i = 0; i < 3 && code == SYNPS_OK; ++i) {
      synps_weight weight{};
      weight.struct_size = sizeof weight;
      code = synps_get_weight(artifact, i, &weight, error);
      std::array<float, 64> x{};
      std::array<float, 64> y{};
      if (code == SYNPS_OK)
        code = synps_matvec(artifact, i, x.data(), 64, y.data(), 16, nullptr, error);
      if (code == SYNPS_OK) code = synps_decode(artifact, i, 3, 1, y.data(), 64, error);
    }
    const long left = until_failure.exchange(0);
    synps_close(artifact);
    until_failure = left;
    return code;
  });

  fail_each_allocation([&](synps_error** error) {
    size_t weight = 0;
    const long allocation = until_failure.exchange(0);
    synps_artifact* artifact = nullptr;
    if (synps_open(path.c_str(), nullptr, &artifact, error) != SYNPS_OK) std::abort();
    until_failure = allocation;
    // A failure of its own, whose description needs memory.
    const int code = synps_find_weight(artifact, "a.weight", &weight, error);
    const long left = until_failure.exchange(0);
    synps_close(artifact);
    if (code == SYNPS_ERROR_USAGE) {
      synps_error_free(*error);
      *error = nullptr;
      until_failure = left;
      return static_cast<int>(SYNPS_OK);
    }
    until_failure = left;
    return code;
  });

  fail_each_allocation([&](synps_error** error) {
    synps_pool* pool = nullptr;
    const int code = synps_pool_create(4, &pool, error);
    synps_pool_free(pool);
    return code;
  });
}

}  // namespace
}  // namespace synps
