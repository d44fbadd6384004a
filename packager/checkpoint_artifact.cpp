// The part of Checkpoint that has an artifact's weights.

#include <algorithm>
#include <utility>

#include "companion_scales.h"
#include "packed_schemes.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

/// How the weight's values are stored, as SourceTensor::encoding says it.
std::string stored_encoding(const StoredWeight& stored, const Codec* codec,
                            const CodecRegistry& codecs) {
  if (stored.codec.is_keep()) return stored.source;
  const std::optional<DType> dense = codec->info().dense_dtype;
  const bool by_dtype = dense && codecs.for_dtype(*dense) == codec;
  return by_dtype ? std::string(encoding_name(*dense)) : codec->info().id();
}

std::uint64_t true_bytes(const StoredWeight& stored, const std::string& file) {
  std::uint64_t bytes = 0;
  for (const StoredComponent& each : stored.components) {
    const auto sum = checked_add(bytes, each.component.bytes);
    if (!sum)
      throw Error({.code = ErrorCode::artifact,
                   .file = file,
                   .what = "the components of a weight have more bytes than 64 bits count",
                   .field = stored.weight.path});
    bytes = *sum;
  }
  return bytes;
}

/// Elements and bytes of what a row may be cut into; of rows that are cut nowhere, or into parts of
/// different size, of a row.
void set_block(const StoredWeight& stored, const Codec* codec, SourceTensor& tensor) {
  if (codec == nullptr || codec->info().dense) {
    const unsigned bits = dtype_bits(stored.components.front().component.dtype);
    tensor.block_elements = bits % 8 == 0 ? 1 : 8;
    tensor.block_bytes = bits % 8 == 0 ? bits / 8 : bits;
    return;
  }
  const std::uint64_t columns = stored.weight.shape.columns();
  const std::uint64_t granule = codec->row_granule();
  tensor.block_elements = granule == 0 || columns % granule != 0 ? columns : granule;
  tensor.block_bytes = 0;
  for (std::size_t c = 0; c < stored.components.size(); ++c)
    if (!stored.components[c].component.per_weight)
      tensor.block_bytes += codec->row_bytes(c, tensor.block_elements);
}

}  // namespace

Checkpoint Checkpoint::open_artifact(const std::string& path, const CodecRegistry& codecs, Os& os) {
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  const auto artifact = std::make_shared<const ArtifactSet>(path, os);
  checkpoint.artifact_ = artifact;
  const std::vector<StoredWeight>& weights = artifact->index().weights;
  if (auto missing = missing_codecs(path, weights, codecs); !missing.empty())
    throw Error(std::move(missing));
  checkpoint.inputs_ = artifact->inputs();
  checkpoint.metadata_ = artifact->source_metadata();
  checkpoint.tensors_.reserve(weights.size());
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Codec* codec = stored_codec(codecs, weights[i]);
    if (std::string fault = component_fault(weights[i], codec); !fault.empty())
      problems.push_back({.code = ErrorCode::artifact,
                          .file = artifact->file_of(i).path(),
                          .what = std::move(fault),
                          .field = weights[i].weight.path});
    else
      checkpoint.add_stored(i, codec, codecs);
  }
  if (!problems.empty()) throw Error(std::move(problems));
  find_packed_schemes(checkpoint.tensors_, checkpoint.faults_);
  bind_scales(checkpoint.tensors_, checkpoint.faults_);
  checkpoint.bind_stored_scales();
  return checkpoint;
}

void Checkpoint::add_stored(std::size_t number, const Codec* codec, const CodecRegistry& codecs) {
  const StoredWeight& stored = artifact_->index().weights[number];
  const ArtifactReader& file = artifact_->file_of(number);
  const StoredComponent& first = stored.components.front();
  SourceTensor& tensor = tensors_.emplace_back();
  tensor.weight = stored.weight;
  tensor.encoding = stored_encoding(stored, codec, codecs);
  tensor.file = artifact_->file_number(number);
  tensor.offset = file.file_offset(first);
  tensor.bytes = true_bytes(stored, file.path());
  tensor.stored = &stored;
  set_block(stored, codec, tensor);
}

/// Which scale is a weight's, the index says, and not the names; only faults come of these.
void Checkpoint::bind_stored_scales() {
  for (SourceTensor& tensor : tensors_) {
    tensor.scale.reset();
    tensor.scale_of.reset();
  }
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::optional<StoredScale>& stored = tensors_[i].stored->scale;
    if (!stored || stored->folded) continue;
    const auto at = std::lower_bound(
        tensors_.begin(), tensors_.end(), stored->path,
        [](const SourceTensor& a, const std::string& wanted) { return a.weight.path < wanted; });
    Problem problem{.code = ErrorCode::artifact,
                    .file = file_of(tensors_[i]).path(),
                    .field = tensors_[i].weight.path,
                    .found = quote(stored->path)};
    if (at == tensors_.end() || at->weight.path != stored->path) {
      problem.what = "the scale of a weight is not in the artifact";
      problem.hint = "a shard has not all weights: name the index of the shards";
    } else if (!is_scale_dtype(at->weight.dtype) ||
               at->encoding != encoding_name(at->weight.dtype) ||
               scale_form(tensors_[i].weight.shape, at->weight.shape) != stored->form ||
               at->scale_of) {
      problem.what = "what the index calls the scale of a weight cannot be its scale";
    } else {
      at->scale_of = i;
      tensors_[i].scale =
          CompanionScale{static_cast<std::size_t>(at - tensors_.begin()), stored->form};
      continue;
    }
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

}  // namespace synps
