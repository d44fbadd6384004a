#include "synps/artifact.h"

#include <fmt/format.h>

#include "loaded_artifact.h"
#include "synps/error.h"
#include "usage_error.h"

namespace synps {

Artifact Artifact::open(const std::string& path, const OpenOptions& options) {
  Artifact artifact;
  artifact.impl_ = std::make_shared<const LoadedArtifact>(path, options);
  return artifact;
}

const MemoryPlan& Artifact::plan() const noexcept {
  return impl_->plan();
}

void Artifact::end_invocation() const {
  impl_->end_invocation();
}

std::size_t Artifact::size() const noexcept {
  return impl_->size();
}

WeightView Artifact::weight(std::size_t i) const {
  if (i >= size())
    throw usage_error(impl_->path(), "", "no such weight", fmt::format("number {}", i),
                      fmt::format("less than {}", size()));
  WeightView view;
  view.impl_ = impl_;
  view.stored_ = &impl_->stored(i);
  view.codec_ = impl_->codec(i);
  view.number_ = i;
  return view;
}

WeightView Artifact::operator[](std::string_view path) const {
  const auto& weights = index().weights;
  const StoredWeight* found = impl_->files().find(path);
  if (found != nullptr) return weight(static_cast<std::size_t>(found - weights.data()));
  std::vector<std::string> paths;
  for (const StoredWeight& stored : weights) paths.push_back(stored.weight.path);
  const auto meant = nearest(path, paths);
  throw usage_error(impl_->path(), std::string(path), "no such weight", "", "",
                    meant ? "did you mean " + quote(*meant) + "?" : "");
}

bool Artifact::contains(std::string_view path) const noexcept {
  return impl_->files().find(path) != nullptr;
}

std::map<std::string, std::string> Artifact::metadata() const {
  return impl_->files().source_metadata();
}

const ArtifactIndex& Artifact::index() const noexcept {
  return impl_->files().index();
}

}  // namespace synps
