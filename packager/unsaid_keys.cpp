#include "unsaid_keys.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "synps/pack_source.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

/// Keys of which an artifact has what an earlier policy said. A scheme is taken whole.
constexpr std::string_view kKept[] = {"backend.device",   "dtype",      "form.compress",
                                      "form.orientation", "form.order", "form.residency"};

/// One weight of an artifact, under a policy.
class Unsaid {
 public:
  Unsaid(const StoredWeight& stored, const WeightResolution& resolution) : stored_(stored) {
    for (const KeyDecision& decision : resolution.decisions)
      if (decision.policy != nullptr || decision.given) said_.push_back(decision.key);
  }

  bool of(std::string_view key) const {
    return std::find(said_.begin(), said_.end(), key) == said_.end();
  }
  void keep(WeightResolution& resolution) const;
  WeightForm form(const PackSource& source, const WeightResolution& resolution,
                  const PlanOptions& options) const;
  SharedList<Decision> decisions(const WeightResolution& resolution) const;

 private:
  const StoredWeight& stored_;
  std::vector<std::string_view> said_;
};

void Unsaid::keep(WeightResolution& resolution) const {
  FormRequest& form = resolution.form;
  if (of("backend.device")) resolution.device = stored_.device;
  if (of("dtype") && !stored_.compute.empty()) resolution.dtype = stored_.compute;
  if (of("form.orientation")) form.orientation = stored_.form.orientation;
  if (of("form.order")) form.order = stored_.asked.order;
  if (of("form.residency") && form.compress.method == Compression::none)
    form.residency = stored_.asked.residency;
  const bool is_volatile = resolution.scheme && resolution.scheme->is_volatile;
  // What is to be mapped is not compressed any more.
  if (of("form.compress") && !is_volatile && form.residency != ResidencyRequest::mapped)
    form.compress = compress_request_of(stored_);
}

WeightForm Unsaid::form(const PackSource& source, const WeightResolution& resolution,
                        const PlanOptions& options) const {
  const PackTarget& target = options.target.of(resolution.device);
  WeightForm form = resolve_packed_form(resolution.form, source, target).form;
  if (of("form.order") && !options.order_for_target)
    form.order = source.rows8 ? stored_.form.order : Order::rows1;
  const bool same_frames = source.compression == compression_of(stored_);
  const bool is_volatile = resolution.scheme && resolution.scheme->is_volatile;
  if (of("form.residency") && same_frames && !target.profile && !is_volatile)
    form.residency = stored_.form.residency;
  return form;
}

SharedList<Decision> Unsaid::decisions(const WeightResolution& resolution) const {
  std::vector<Decision> result = decisions_of(resolution);
  for (const Decision& decision : stored_.decisions)
    if (std::find(std::begin(kKept), std::end(kKept), decision.key) != std::end(kKept) &&
        of(decision.key))
      result.push_back(decision);
  std::sort(result.begin(), result.end(),
            [](const Decision& a, const Decision& b) { return a.key < b.key; });
  return result;
}

}  // namespace

std::vector<GivenWeight> keep_unsaid(const Checkpoint& artifact, const CodecRegistry& codecs,
                                     const PlanOptions& options,
                                     std::vector<WeightResolution>& resolutions) {
  std::vector<GivenWeight> given;
  given.reserve(resolutions.size());
  for (std::size_t i = 0; i < resolutions.size(); ++i) {
    const SourceTensor& tensor = artifact.tensors()[i];
    const Unsaid unsaid(*tensor.stored, resolutions[i]);
    unsaid.keep(resolutions[i]);
    const PackSource source = pack_source(codecs, weight_facts(artifact, tensor), resolutions[i]);
    given.push_back(
        {unsaid.decisions(resolutions[i]), unsaid.form(source, resolutions[i], options)});
  }
  return given;
}

}  // namespace synps
