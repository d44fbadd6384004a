#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c_error.h"
#include "synps.h"
#include "synps/artifact.h"
#include "synps/codec_registry.h"

namespace synps::c {

/// Texts that C may keep pointers to. There are few different ones.
class Names {
 public:
  const char* keep(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    auto at = texts_.find(text);
    if (at == texts_.end()) at = texts_.emplace(text).first;
    return at->c_str();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::set<std::string, std::less<>> texts_;
};

}  // namespace synps::c

struct synps_artifact {
  std::unique_ptr<const synps::CodecRegistry> codecs;  // where packages were asked for
  synps::Artifact artifact;
  std::map<std::string, std::string> metadata;
  std::vector<std::pair<const char*, const char*>> metadata_rows;  // of `metadata`
  synps::c::Names names;
};

namespace synps::c {

/// Throws Error(usage) for a null artifact, or a weight that it does not have.
inline const synps_artifact& checked(const synps_artifact* artifact) {
  return given(artifact, "artifact");
}
inline WeightView weight_of(const synps_artifact* artifact, size_t weight) {
  return checked(artifact).artifact.weight(weight);
}

}  // namespace synps::c
