#include "weight_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "scale_notes.h"
#include "synps/stored_codec.h"

namespace synps::cli {
namespace {

/// "" when no policy decided the format.
std::string format_policy(const StoredWeight& weight) {
  for (const Decision& decision : weight.decisions)
    if (decision.key == "format") return decision.pattern;
  return {};
}

/// Whether the command line decided a key, and no policy.
bool given(const StoredWeight& weight, std::string_view key) {
  return std::any_of(weight.decisions.begin(), weight.decisions.end(),
                     [&](const Decision& each) { return each.key == key && each.pattern.empty(); });
}

std::string compression_text(const ReportedWeight& weight) {
  const CompressRequest compression = shown_compression(*weight.stored);
  if (compression.method == Compression::none) return {};
  return fmt::format(", {}{}{}", to_string(compression),
                     weight.compress_given ? " by --compress" : "",
                     weight.bytes_are_bound ? " (at most)" : "");
}

/// What the weight went through, all of it or, of an artifact that is repacked, from there on.
std::string steps(const ReportedWeight& weight) {
  const StoredWeight& stored = *weight.stored;
  const std::string codec = short_codec(stored.codec.id());
  if (weight.source != nullptr) {
    const std::string from = short_codec(stored_in(*weight.source));
    if (stored.codec.is_keep() || from == codec) return from + " kept as stored";
    const bool rounded = !stored.history.empty();
    return fmt::format("{} -> {}{}", from, codec, rounded ? " (rounded before)" : "");
  }
  if (stored.form.encoding.kind == Encoding::Kind::keep_as_stored)
    return short_codec(stored.source) + " kept as stored";
  std::string text = short_codec(stored.source);
  for (const CodecRef& step : stored.history) text += " -> " + short_codec(step.id());
  return text + " -> " + codec;
}

std::string encodings(const ReportedWeight& weight) {
  const StoredWeight& stored = *weight.stored;
  std::string text = steps(weight);
  if (weight.fallback) text += " instead of " + short_codec(stored.scheme->format);
  if (stored.scale) text += fmt::format(", {}", scale_text(*stored.scale));
  return text;
}

/// What an artifact says of how a weight is held, beside its encoding.
std::string form_text(const ReportedWeight& weight) {
  const StoredWeight& stored = *weight.stored;
  std::string text = ", ";
  if (weight.source != nullptr && weight.source->form.order != stored.form.order)
    text += fmt::format("{} -> ", to_string(weight.source->form.order));
  text += fmt::format("{}, {}", to_string(stored.form.order), to_string(stored.form.residency));
  if (stored.form.orientation != Orientation::out_in)
    text += fmt::format(", {}", to_string(stored.form.orientation));
  text += compression_text(weight);
  if (weight.source != nullptr && compression_of(*weight.source) != Compression::none &&
      compression_of(stored) == Compression::none)
    text += ", inflated";
  if (stored.scheme && stored.scheme->is_volatile) text += ", volatile";
  if (stored.device != StoredWeight().device)
    text += ", on device " + escape_for_display(stored.device);
  return text;
}

/// Bytes that the checkpoint had; 0 when they were blocks that nothing here knows.
std::uint64_t source_bytes(const StoredWeight& stored, const CodecRegistry& codecs) {
  const Weight& weight = stored.weight;
  if (stored.form.encoding.kind == Encoding::Kind::keep_as_stored)
    return stored.components.front().component.bytes;
  if (stored.source == encoding_name(weight.dtype))
    return weight.shape.bytes(weight.dtype).value_or(0);
  const Codec* codec = source_codec(codecs, {weight, stored.source});
  if (codec == nullptr || !codec->supports(weight).ok) return 0;
  std::uint64_t sum = 0;
  for (const Component& component : codec->components(weight)) sum += component.bytes;
  return sum;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // all of it where there is no folder
}

void report_shards(WeightReport& report, const Plan& plan) {
  for (const PlannedShard& shard : plan.shards)
    report.shards.push_back(
        {shard.file, shard.plan.artifact_bytes, shard.plan.weights.size(), shard.over_limit});
  if (!plan.shard_index.empty())
    report.shard_index = {plan.shard_index, plan.shard_index_bytes, plan.weights.size(), false};
}

void report_shards(WeightReport& report, const ArtifactSet& artifact) {
  if (!artifact.is_sharded()) return;
  for (const auto& file : artifact.files())
    report.shards.push_back(
        {file_name(file->path()), file->file().size(), file->index().weights.size(), false});
  report.shard_index = {file_name(artifact.shard_index()->path()), artifact.shard_index()->size(),
                        report.weights.size(), false};
}

}  // namespace

std::uint64_t elements_of(const StoredWeight& stored) noexcept {
  const std::uint64_t elements = stored.weight.shape.elements();
  const GgufType* type = stored.codec.is_keep() ? gguf_type_of_encoding(stored.source) : nullptr;
  return type == nullptr ? elements : elements / type->block_bytes * type->block_elements;
}

CompressRequest shown_compression(const StoredWeight& weight) noexcept {
  return compression_of(weight) == Compression::none ? CompressRequest{} : weight.asked.compress;
}

CompressionTotal compression_total(const WeightReport& report) noexcept {
  CompressionTotal total;
  for (const ReportedWeight& weight : report.weights) {
    bool compressed = false;
    for (const StoredComponent& stored : weight.stored->components) {
      if (!stored.compressed()) continue;
      compressed = true;
      total.inflated += stored.component.bytes;
      total.stored += stored.stored_bytes;
    }
    if (compressed) ++total.weights;
  }
  return total;
}

WeightReport report_plan(const Plan& plan, const Policy* policy, const Checkpoint& checkpoint) {
  WeightReport report;
  report.checkpoint = &checkpoint;
  if (policy != nullptr) report.policy_file = policy->file();
  if (plan.gguf) report.gguf = &*plan.gguf;
  for (const PlannedWeight& planned : plan.weights) {
    ReportedWeight weight;
    weight.stored = &plan.stored(planned);
    weight.source_bytes = planned.source_bytes;
    weight.bytes = planned.bytes;
    weight.bytes_are_bound = compression_of(*weight.stored) != Compression::none;
    weight.lossless = planned.lossless;
    weight.source = planned.source;
    weight.compress_given = given(*weight.stored, "form.compress");
    weight.format_given = given(*weight.stored, "format");
    weight.gguf_type = planned.gguf_type;
    if (plan.gguf) weight.gguf_shape = &checkpoint.tensors()[planned.tensor].weight.shape;
    weight.policy = planned.policy;
    weight.policy_line = planned.policy_place.line;
    if (policy != nullptr && weight.policy_line != 0)
      weight.policy_file = policy->file_of(planned.policy_place);
    weight.fallback = planned.used_fallback;
    weight.fallback_reason = planned.fallback_reason;
    report.weights.push_back(std::move(weight));
  }
  report.source_bytes = plan.source_bytes;
  report.artifact_bytes = plan.artifact_bytes;
  report.sizes_are_bounds = plan.layout.has_bounds;
  report.values = &plan.layout.index.values;
  report_shards(report, plan);
  return report;
}

WeightReport report_artifact(const ArtifactSet& artifact, const CodecRegistry& codecs) {
  WeightReport report;
  for (const StoredWeight& stored : artifact.index().weights) {
    ReportedWeight weight;
    weight.stored = &stored;
    weight.source_bytes = source_bytes(stored, codecs);
    for (const StoredComponent& component : stored.components)
      weight.bytes += component.stored_bytes;
    weight.policy = format_policy(stored);
    // Weights without elements are kept whatever their scheme says: no fallback.
    weight.fallback = stored.scheme && stored.scheme->format != "keep" &&
                      stored.scheme->format != stored.codec.id() &&
                      stored.weight.shape.elements() != 0;
    weight.lossless = stored.lossless;
    weight.compress_given = given(stored, "form.compress");
    weight.format_given = given(stored, "format");
    report.source_bytes += weight.source_bytes;
    report.weights.push_back(std::move(weight));
  }
  report.artifact_bytes = artifact.file_bytes();
  report.values = &artifact.index().values;
  report_shards(report, artifact);
  return report;
}

void set_true_sizes(WeightReport& report, const ArtifactLayout& written) {
  report.artifact_bytes = written.file_bytes;
  report.sizes_are_bounds = false;
  for (std::size_t i = 0; i < report.weights.size(); ++i) {
    ReportedWeight& weight = report.weights[i];
    weight.stored = &written.index.weights[i];
    weight.bytes = 0;
    weight.bytes_are_bound = false;
    for (const StoredComponent& stored : weight.stored->components)
      weight.bytes += stored.stored_bytes;
  }
}

void set_true_sizes(WeightReport& report, const std::vector<PackedFile>& written) {
  for (std::size_t i = 0; i < report.shards.size(); ++i) report.shards[i].bytes = written[i].bytes;
  if (!report.shard_index.file.empty()) report.shard_index.bytes = written.back().bytes;
}

std::string describe(const ReportedWeight& weight) {
  std::string text = encodings(weight) + (weight.lossless ? ", lossless" : ", lossy");
  text +=
      weight.gguf_type != nullptr ? fmt::format(", {}", weight.gguf_type->name) : form_text(weight);
  if (weight.format_given) return text + "; by --to";
  if (weight.policy.empty()) return text + "; no policy needed";
  text += "; by " + escape_for_display(weight.policy);
  if (weight.policy_line != 0)
    text += fmt::format(" ({}:{})", escape_for_display(weight.policy_file), weight.policy_line);
  return text;
}

}  // namespace synps::cli
