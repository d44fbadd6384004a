#include <algorithm>
#include <string>
#include <utility>

#include "c_handle.h"
#include "c_options.h"
#include "c_struct.h"
#include "synps/error.h"

namespace synps::c {
namespace {

constexpr const char* kVersion = SYNPS_VERSION;

/// An override that covers nothing is a mistake, which must not be passed over.
void check_override(const Artifact& artifact, const std::string& path) {
  if (artifact.contains(path)) return;
  const std::vector<StoredWeight>& weights = artifact.index().weights;
  const std::string below = path + ".";  // where paths below it begin, as weights are sorted
  const auto at = std::lower_bound(weights.begin(), weights.end(), below,
                                   [](const StoredWeight& weight, const std::string& wanted) {
                                     return weight.weight.path < wanted;
                                   });
  if (at != weights.end() && covers(path, at->weight.path)) return;
  std::vector<std::string> paths;
  for (const StoredWeight& weight : weights) paths.push_back(weight.weight.path);
  const auto meant = nearest(path, paths);
  refuse("an override covers no weight", "overrides.path", quote(path), "",
         meant ? "did you mean " + quote(*meant) + "?" : "");
}

std::unique_ptr<synps_artifact> open(const char* path, const synps_options* options) {
  Opening opening = read_options(options);
  auto handle = std::make_unique<synps_artifact>();
  handle->artifact = Artifact::open(&given(path, "path"), opening.options);
  for (const std::string& each : opening.override_paths) check_override(handle->artifact, each);
  handle->codecs = std::move(opening.codecs);
  handle->metadata = handle->artifact.metadata();
  for (const auto& [key, value] : handle->metadata)
    handle->metadata_rows.emplace_back(key.c_str(), value.c_str());
  return handle;
}

}  // namespace
}  // namespace synps::c

const char* synps_version(void) {
  return synps::c::kVersion;
}

uint32_t synps_abi_version(void) {
  return SYNPS_ABI_VERSION;
}

int synps_open(const char* path, const synps_options* options, synps_artifact** artifact,
               synps_error** error) {
  return synps::c::guarded(error, [&] {
    synps_artifact*& out = synps::c::given(artifact, "artifact");
    out = nullptr;
    out = synps::c::open(path, options).release();
  });
}

void synps_close(synps_artifact* artifact) {
  delete artifact;
}

int synps_get_plan(const synps_artifact* artifact, synps_plan* plan, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::MemoryPlan& found = synps::c::checked(artifact).artifact.plan();
    synps_plan full{};
    full.file_bytes = found.total.file;
    full.resident_bytes = found.total.resident;
    full.mapped_bytes = found.total.mapped;
    full.conversion_bytes = found.total.conversion;
    full.transient_bytes = found.total.transient;
    full.budget_bytes = found.budget.value_or(0);
    full.has_budget = found.budget ? 1 : 0;
    full.fits = found.fits ? 1 : 0;
    synps::c::write_struct(plan, full, "plan");
  });
}

size_t synps_metadata_count(const synps_artifact* artifact) {
  return artifact != nullptr ? artifact->metadata_rows.size() : 0;
}

int synps_get_metadata(const synps_artifact* artifact, size_t entry, const char** key,
                       const char** value, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const auto& rows = synps::c::checked(artifact).metadata_rows;
    if (entry >= rows.size())
      synps::c::refuse("no such metadata", "entry", "number " + std::to_string(entry),
                       "less than " + std::to_string(rows.size()));
    synps::c::given(key, "key") = rows[entry].first;
    synps::c::given(value, "value") = rows[entry].second;
  });
}

const char* synps_find_metadata(const synps_artifact* artifact, const char* key) {
  if (artifact == nullptr || key == nullptr) return nullptr;
  for (const auto& [known, value] : artifact->metadata_rows)
    if (std::string_view(known) == key) return value;
  return nullptr;
}

int synps_end_invocation(const synps_artifact* artifact, synps_error** error) {
  return synps::c::guarded(error, [&] { synps::c::checked(artifact).artifact.end_invocation(); });
}
