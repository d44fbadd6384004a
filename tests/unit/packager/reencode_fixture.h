#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "order_targets.h"
#include "pack_fixture.h"
#include "synps/artifact_set.h"
#include "synps/artifact_shards.h"
#include "synps/component_rows.h"
#include "synps/reencode.h"
#include "synps/stored_codec.h"
#include "synps/unpack.h"

namespace synps::testing {

/// How artifacts are written in these tests, apart from their encoding.
struct OutputForm {
  PackTarget target{};
  std::optional<CompressRequest> compress{};
  std::uint64_t max_shard_bytes = 0;
  unsigned jobs = 2;
};

inline PlanOptions plan_options(const OutputForm& form, const std::string& name) {
  PlanOptions options;
  options.target = form.target;
  options.order_for_target = true;
  options.compress = form.compress;
  options.max_shard_bytes = form.max_shard_bytes;
  options.name = name;
  return options;
}

inline std::vector<const Codec*> encoders() {
  std::vector<const Codec*> codecs;
  for (const Codec* codec : builtin_registry().all())
    if (codec->info().encodes) codecs.push_back(codec);
  return codecs;
}

/// True bytes of a component as rows1, whatever it is stored like.
inline std::vector<std::byte> rows1_bytes(const ArtifactReader& file, const StoredWeight& weight,
                                          std::size_t component) {
  const StoredComponent& stored = weight.components[component];
  std::vector<std::byte> bytes(stored.component.bytes);
  if (stored.order == Order::rows1) {
    ComponentReader(file).read(weight, stored, 0, bytes);
    return bytes;
  }
  const Codec& codec = *stored_codec(builtin_registry(), weight);
  ComponentRows(file).read(weight, stored, row_blocks(codec, weight, component), 0, bytes);
  return bytes;
}

/// A folder of artifacts that are made of a checkpoint, and of each other.
struct ReencodeFixture : PackFixture {
  explicit ReencodeFixture(const SafetensorsBuilder& builder) : PackFixture(builder) {}

  /// Where an artifact lies by that name: its file, or its shards' index.
  std::string artifact(const std::string& name) const {
    const std::string index = shard_index_name(dir.file(name));
    return std::filesystem::exists(index) ? index : dir.file(name);
  }
  Checkpoint opened(const std::string& name, Os& os = Os::posix()) const {
    return Checkpoint::open_artifact(artifact(name), builtin_registry(), os);
  }

  PackReport write(const Checkpoint& source, const Plan& plan, const std::string& to,
                   unsigned jobs = 2) const {
    PackOptions options;
    options.replace = true;
    options.jobs = jobs;
    const PackReport report = synps::pack(source, plan, dir.file(to), options);
    if (plan.shards.empty()) std::filesystem::remove(shard_index_name(dir.file(to)));
    return report;
  }
  void packed(const Policy& policy, const std::string& to, const OutputForm& form = {}) const {
    const Checkpoint checkpoint = open();
    write(checkpoint, make_plan(checkpoint, policy, plan_options(form, to)), to, form.jobs);
  }
  void requantized(const std::string& from, const std::string& to, const ReencodeRequest& request,
                   const OutputForm& form = {}, Rounding rounding = Rounding::allowed) const {
    const Checkpoint source = opened(from);
    write(source,
          plan_reencode(source, request, builtin_registry(), rounding, plan_options(form, to)), to,
          form.jobs);
  }
  /// In the form that packing a checkpoint gives: nothing stays because no policy speaks of it.
  void requantized(const std::string& from, const std::string& to, const Policy& policy,
                   const OutputForm& form = {}) const {
    const Checkpoint source = opened(from);
    PlanOptions options = plan_options(form, to);
    if (!options.compress) options.compress.emplace();
    write(source, plan_reencode(source, policy, Rounding::allowed, options), to, form.jobs);
  }

  std::string unpacked(const std::string& name) const {
    UnpackOptions options;
    options.replace = true;
    const std::string plain = dir.file("unpacked");
    unpack(artifact(name), plain, builtin_registry(), options);
    return read_file(plain);
  }
};

inline ReencodeRequest to_codec(std::string_view name) {
  ReencodeRequest request;
  request.codec = builtin_registry().resolve(name);
  return request;
}

/// Both artifacts are sound, and store the same bytes of the same weights in the same way.
inline void check_same_components(const std::string& a, const std::string& b) {
  const ArtifactSet one(a);
  const ArtifactSet other(b);
  CHECK(other.check_all(&builtin_registry()).empty());
  REQUIRE(one.index().weights.size() == other.index().weights.size());
  for (std::size_t w = 0; w < one.index().weights.size(); ++w) {
    const StoredWeight& wanted = one.index().weights[w];
    const StoredWeight& found = other.index().weights[w];
    CAPTURE(wanted.weight.path);
    CHECK(found.weight == wanted.weight);
    CHECK(found.source == wanted.source);
    CHECK(found.codec == wanted.codec);
    CHECK(found.form.order == wanted.form.order);
    CHECK(found.asked == wanted.asked);
    CHECK(found.scale == wanted.scale);
    REQUIRE(found.components.size() == wanted.components.size());
    for (std::size_t c = 0; c < wanted.components.size(); ++c) {
      CHECK(found.components[c].component == wanted.components[c].component);
      CHECK(found.components[c].compression == wanted.components[c].compression);
      CHECK(rows1_bytes(other.file_of(w), found, c) == rows1_bytes(one.file_of(w), wanted, c));
    }
  }
}

}  // namespace synps::testing
