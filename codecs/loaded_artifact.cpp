#include "loaded_artifact.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "artifact_codecs.h"
#include "stored_rows.h"
#include "synps/builtin_codecs.h"
#include "synps/builtin_kernels.h"
#include "synps/component_rows.h"
#include "synps/error.h"
#include "weight_loader.h"

namespace synps {
namespace {

const std::string kValues = "values";

std::size_t count_components(const std::vector<StoredWeight>& weights) {
  std::size_t count = 0;
  for (const StoredWeight& weight : weights) count += weight.components.size();
  return count;
}

bool is_volatile(const StoredWeight& weight) noexcept {
  return weight.scheme && weight.scheme->is_volatile;
}

}  // namespace

LoadedArtifact::LoadedArtifact(const std::string& path, const OpenOptions& options)
    : os_(options.os != nullptr ? *options.os : Os::posix()),
      files_(path, os_),
      codecs_(options.codecs != nullptr ? *options.codecs : builtin_registry()),
      kernels_(options.kernels != nullptr ? *options.kernels : builtin_kernels()),
      checks_(files_.index().weights, options.verification == Verification::first_use) {
  const std::vector<StoredWeight>& stored = files_.index().weights;
  const auto codecs = codecs_of(files_.path(), stored, codecs_);
  weights_.resize(stored.size());
  components_.resize(count_components(stored));
  std::size_t next = 0;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    weights_[i].codec = codecs[i];
    weights_[i].first = next;
    next += stored[i].components.size();
  }
  make_plan(options);
  load(options);
  find_volatile_pages();
}

void LoadedArtifact::make_plan(const OpenOptions& options) {
  LoadOptions load;
  load.profile = options.profile;
  load.budget = options.budget;
  load.overrides = options.overrides;
  if (options.profile || !options.overrides.empty())
    load.capabilities = kernels_.capabilities(TargetRequest::native);
  plan_ = plan_load(
      files_.index(), [this](std::size_t i) { return weights_[i].codec; }, load);
  check_fits(plan_, options.profile.value_or(Profile{}), files_.path(), options.allow_over_budget);
}

void LoadedArtifact::load(const OpenOptions& options) {
  if (options.verification == Verification::all)
    if (std::vector<Problem> problems = files_.check_all(&codecs_); !problems.empty())
      throw Error(std::move(problems));
  // Reading is a heap weight's first use: it is compared then, and the file is not touched for it
  // afterwards.
  WeightLoader loader(files_, options.verification == Verification::first_use, options.trace);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto& components = stored(i).components;
    const auto places = std::span(components_).subspan(weights_[i].first, components.size());
    const FormDecision& decision = planned(i).decision;
    if (decision.form.residency == Residency::heap) {
      weights_[i].heap = loader.load(i, decision, weights_[i].codec, places);
      for (std::size_t c = 0; c < components.size(); ++c) checks_.set_sound(weights_[i].first + c);
      continue;
    }
    for (std::size_t c = 0; c < components.size(); ++c)
      places[c] = files_.file_of(i).bytes(components[c]);
  }
}

void LoadedArtifact::find_volatile_pages() {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i].heap != nullptr || !is_volatile(stored(i))) continue;
    for (std::size_t c = 0; c < stored(i).components.size(); ++c) {
      const std::byte* const begin = components_[weights_[i].first + c].data();
      const std::span<const std::byte> bytes(begin, stored(i).components[c].stored_bytes);
      if (!bytes.empty()) volatile_pages_.push_back(bytes);
    }
  }
  std::sort(volatile_pages_.begin(), volatile_pages_.end(),
            [](const auto& a, const auto& b) { return std::less<>()(a.data(), b.data()); });
  std::vector<std::span<const std::byte>> joined;
  for (const auto& bytes : volatile_pages_) {
    if (!joined.empty() && joined.back().data() + joined.back().size() == bytes.data())
      joined.back() = {joined.back().data(), joined.back().size() + bytes.size()};
    else
      joined.push_back(bytes);
  }
  volatile_pages_ = std::move(joined);
}

void LoadedArtifact::end_invocation() const {
  int failed = 0;
  for (const auto& bytes : volatile_pages_)
    if (const int result = os_.discard(bytes.data(), bytes.size()); result < 0) failed = result;
  if (failed < 0)
    throw Error({.code = ErrorCode::io,
                 .file = path(),
                 .what = "the system keeps the memory of volatile weights: " + errno_text(failed)});
}

std::size_t LoadedArtifact::component_count(std::size_t i) const noexcept {
  return planned(i).decision.dequantizes ? 1 : stored(i).components.size();
}

const std::string& LoadedArtifact::component_name(std::size_t i, std::size_t c) const noexcept {
  return planned(i).decision.dequantizes ? kValues : stored(i).components[c].component.name;
}

void LoadedArtifact::check(std::size_t i, std::size_t c, std::uint64_t begin,
                           std::uint64_t end) const {
  checks_.check(weights_[i].first + c, files_.file_of(i), stored(i), stored(i).components[c], begin,
                end);
}

std::span<const std::byte> LoadedArtifact::component(std::size_t i, std::size_t c) const {
  const std::span<const std::byte> bytes = components_[weights_[i].first + c];
  check(i, c, 0, bytes.size());
  return bytes;
}

void LoadedArtifact::check_rows(std::size_t i, std::size_t c, const RowBlocks& shape,
                                RowRange rows) const {
  if (stored(i).components[c].component.per_weight) {
    component(i, c);
    return;
  }
  const Order order = planned(i).decision.form.order;
  const RowBytesRange bytes = bytes_of_rows(shape, order, rows.first, rows.count);
  check(i, c, bytes.begin, bytes.end);
}

void LoadedArtifact::decode(std::size_t i, RowRange rows, std::span<float> out) const {
  const FormDecision& decision = planned(i).decision;
  const auto components =
      std::span(components_).subspan(weights_[i].first, stored(i).components.size());
  if (decision.dequantizes) {
    const std::uint64_t begin = rows.first * stored(i).weight.shape.columns() * sizeof(float);
    std::memcpy(out.data(), components[0].data() + begin, out.size_bytes());
    return;
  }
  const Codec& codec = *weights_[i].codec;
  const std::vector<RowSlab> slabs = whole_slabs(codec, stored(i), components);
  for (std::size_t c = 0; c < slabs.size(); ++c) check_rows(i, c, slabs[c].shape, rows);
  decode_rows(codec, stored(i), decision.form.order, slabs, rows.first, rows.count, out);
}

StoredMatrix LoadedArtifact::matrix(std::size_t i) const {
  const std::size_t count = component_count(i);
  for (std::size_t c = 0; c < count; ++c) component(i, c);
  const Shape& shape = stored(i).weight.shape;
  return {shape.rows(), shape.columns(), std::span(components_).subspan(weights_[i].first, count)};
}

const ProductKernels& LoadedArtifact::product_kernels() const {
  std::call_once(kernels_once_, [this] {
    std::vector<const Codec*> codecs;
    codecs.reserve(weights_.size());
    for (const Weight& weight : weights_) codecs.push_back(weight.codec);
    product_kernels_ = std::make_unique<const ProductKernels>(kernels_, plan_.weights, codecs);
  });
  return *product_kernels_;
}

const WeightKernels& LoadedArtifact::kernels_of(std::size_t i) const {
  return product_kernels().of(i);
}

const Kernel& LoadedArtifact::f32_matmul() const {
  return product_kernels().f32_matmul();
}

}  // namespace synps
