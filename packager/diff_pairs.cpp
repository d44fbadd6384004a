#include "diff_pairs.h"

#include <algorithm>

#include <fmt/format.h>

#include "synps/artifact_index.h"
#include "synps/error.h"
#include "synps/plan.h"

namespace synps {

DiffSide::DiffSide(const Checkpoint& checkpoint, const CodecRegistry& codecs)
    : checkpoint_(checkpoint), codecs_(codecs), facts_(weight_facts(checkpoint)) {
  const std::vector<SourceTensor>& tensors = checkpoint.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!is_key_value_encoding(tensors[i].encoding)) weights_.push_back(i);
}

const SourceTensor* DiffSide::find(std::string_view path) const noexcept {
  const std::vector<SourceTensor>& tensors = checkpoint_.tensors();
  const auto at = std::lower_bound(
      tensors.begin(), tensors.end(), path,
      [](const SourceTensor& tensor, std::string_view name) { return tensor.weight.path < name; });
  return at != tensors.end() && at->weight.path == path ? &*at : nullptr;
}

ComparedTensor DiffSide::compared(std::size_t tensor, std::string* reason) const {
  const SourceTensor& source = checkpoint_.tensors()[tensor];
  const WeightFacts& facts = facts_[tensor];
  const Codec* const codec = source_codec(codecs_, facts);
  const auto by_bytes = [&](std::string why) {
    if (reason != nullptr) *reason = std::move(why);
    return ComparedTensor{&checkpoint_, &source, nullptr, std::nullopt, codec};
  };
  if (facts.only_kept)
    return by_bytes(facts.packed_as.empty()
                        ? std::string("what it is to be multiplied by is not clear")
                        : fmt::format("it is a part of a {} module, which nothing here decodes",
                                      facts.packed_as));
  if (codec == nullptr) return by_bytes("nothing here decodes " + source.encoding);
  auto scale = folded_scale(checkpoint_, source, codecs_);
  if (source.scale && !scale) return by_bytes("nothing here decodes its scale");
  return {&checkpoint_, &source, codec, scale, codec};
}

std::vector<DiffPair> pair_paths(const DiffSide& a, const DiffSide& b) {
  const std::vector<std::size_t>& first = a.weights();
  const std::vector<std::size_t>& second = b.weights();
  const auto path = [](const DiffSide& side, std::size_t tensor) -> const std::string& {
    return side.checkpoint().tensors()[tensor].weight.path;
  };
  std::vector<DiffPair> pairs;
  pairs.reserve(std::max(first.size(), second.size()));
  for (std::size_t i = 0, j = 0; i < first.size() || j < second.size();) {
    const int order = i == first.size()    ? 1
                      : j == second.size() ? -1
                                           : path(a, first[i]).compare(path(b, second[j]));
    DiffPair& pair = pairs.emplace_back();
    if (order <= 0) pair.a = first[i++];
    if (order >= 0) pair.b = second[j++];
  }
  return pairs;
}

bool is_folded(const DiffSide& side, std::size_t tensor, const DiffSide& other) {
  const std::vector<SourceTensor>& tensors = side.checkpoint().tensors();
  const auto& weight = tensors[tensor].scale_of;
  if (!weight) return false;
  const SourceTensor* const there = other.find(tensors[*weight].weight.path);
  if (there == nullptr || there->scale) return false;
  if (there->stored != nullptr && there->stored->scale) return there->stored->scale->folded;
  // Codes of an 8-bit float without a scale are not the products: the scale is lost.
  return dtype_is_float(there->weight.dtype) && !is_float8(there->weight.dtype);
}

}  // namespace synps
