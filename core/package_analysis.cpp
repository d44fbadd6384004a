#include "package_analysis.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "package_scope.h"
#include "package_views.h"

namespace synps {

PackageAnalysis::PackageAnalysis(std::shared_ptr<const PackageCodecTable> codec,
                                 const Weight& weight)
    : codec_(std::move(codec)), path_(weight.path) {
  const PackageWeight seen(weight);
  const PackageCall call{*codec_, "analysis_create", path_};
  Guarded<void*> state(nullptr);
  run_package(call, [&](char* message, std::size_t size) {
    return codec_->functions.analysis_create(codec_->self, seen.view(), &state.value, message,
                                             size);
  });
  seen.check(call);
  state.check(call, "the pointer to its analysis");
  if (state.value == nullptr) throw_package_fault(call, "gave no analysis");
  state_ = state.value;
}

PackageAnalysis::~PackageAnalysis() {
  const PackageScope scope(codec_->info.file, "analysis_destroy");
  try {
    codec_->functions.analysis_destroy(codec_->self, state_);
  } catch (...) {
    // Everything that the analysis was for has been done.
    state_ = nullptr;
  }
}

void PackageAnalysis::add(std::span<const float> values) {
  if (values.empty()) return;
  const PackageCall call{*codec_, "analysis_add", path_};
  const auto add_from = [&](const float* from) {
    run_package(call, [&](char* message, std::size_t size) {
      return codec_->functions.analysis_add(codec_->self, state_, from, values.size(), message,
                                            size);
    });
  };
  if (calls_++ % kWatchedParts != 0) return add_from(values.data());
  const GuardedCopy seen(std::as_bytes(values));
  add_from(reinterpret_cast<const float*>(seen.data()));
  seen.check(call, "its values");
}

void PackageAnalysis::store(std::size_t component, std::span<std::byte> out) const {
  if (out.empty()) return;
  const PackageCall call{*codec_, "analysis_store", path_};
  GuardedBytes memory(out.size());
  store_once(call, component, kFirstFill, memory);
  std::memcpy(out.data(), memory.data(), out.size());
  store_once(call, component, kSecondFill, memory);
  if (!std::equal(out.begin(), out.end(), memory.data()))
    throw_package_fault(call, "leaves bytes unwritten, or gives other bytes each time",
                        fmt::format("in component {}", component));
}

void PackageAnalysis::store_once(const PackageCall& call, std::size_t component, std::byte fill,
                                 GuardedBytes& memory) const {
  memory.fill(fill);
  run_package(call, [&](char* message, std::size_t size) {
    return codec_->functions.analysis_store(codec_->self, state_, component, memory.data(),
                                            memory.bytes().size(), message, size);
  });
  memory.check(call, fmt::format("component {}", component));
}

}  // namespace synps
