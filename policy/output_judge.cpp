#include "output_judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "format_names.h"
#include "synps/gguf_types.h"

namespace synps {
namespace {

/// What llama.cpp stores tensors of one dimension as.
constexpr std::string_view kOneDimensional = "f32:f32";

/// What a policy may name for GGUF: codecs that encode and store the blocks of a tensor type.
std::vector<std::string> formats_for_gguf(const CodecRegistry& codecs) {
  std::vector<std::string> names;
  for (const Codec* codec : codecs.all())
    if (codec->info().encodes && gguf_type_of_codec(codec->info().id()) != nullptr)
      names.push_back(CodecRegistry::short_name(codec->info()));
  return names;
}

const KeyDecision* decision_on(const SetResolution& set, std::string_view key) {
  const auto& decisions = set.common.decisions;
  const auto found = std::find_if(decisions.begin(), decisions.end(),
                                  [&](const KeyDecision& each) { return each.key == key; });
  return found == decisions.end() ? nullptr : found;
}

std::optional<WeightFault> compression_fault(const SetResolution& set) {
  const KeyDecision* compress = decision_on(set, "form.compress");
  if (compress == nullptr) return std::nullopt;
  WeightFault fault{compress->place, {.what = "GGUF holds no compressed weights"}};
  fault.problem.field = "form.compress";
  fault.problem.found = fmt::format("compress = \"{}\"{}", compress->value,
                                    compress->given ? " by the command line (--compress)" : "");
  fault.problem.hint =
      "set compress = \"none\" for these weights; a file that extends this one can, for GGUF alone";
  return fault;
}

std::optional<WeightFault> order_fault_of_gguf(const SetResolution& set) {
  const KeyDecision* order = decision_on(set, "form.order");
  if (order == nullptr) return std::nullopt;
  WeightFault fault{order->place, {.what = "GGUF holds rows one after the other alone"}};
  fault.problem.field = "form.order";
  fault.problem.found = "order = \"kernel_feed\"";
  fault.problem.hint =
      "set order = \"auto\" for these weights; a file that extends this one can, for GGUF alone";
  return fault;
}

}  // namespace

std::optional<WeightFault> format_fault(const std::string& format, SourcePlace place,
                                        OutputKind output, const CodecRegistry& codecs) {
  if (output != OutputKind::gguf || format == kKeep) return std::nullopt;
  if (gguf_type_of_codec(format) != nullptr) return std::nullopt;
  WeightFault fault{place, {.what = "GGUF has no tensor type for a codec"}};
  fault.problem.field = short_format(format, codecs);
  fault.problem.want =
      fmt::format("one of {}, or {}", fmt::join(formats_for_gguf(codecs), ", "), kKeep);
  fault.problem.hint = "give these weights one of those for GGUF, or pack an artifact";
  return fault;
}

std::optional<WeightFault> form_fault(const SetResolution& set, OutputKind output,
                                      const WeightResolution& weight) {
  if (output != OutputKind::gguf) return std::nullopt;
  if (weight.form.compress.method != Compression::none) return compression_fault(set);
  if (weight.form.order == OrderRequest::kernel_feed && weight.needs_scheme)
    return order_fault_of_gguf(set);
  return std::nullopt;
}

std::string type_warning(const WeightFacts& facts, OutputKind output, const CodecRegistry& codecs,
                         const WeightResolution& weight) {
  const Shape& shape = facts.weight.shape;
  if (output != OutputKind::gguf || weight.codec == nullptr || shape.rows() != 1) return {};
  const CodecInfo& info = weight.codec->info();
  // Scalars and [1, n] are 1-D to ggml as well, which counts extents of 1 for none (ggml_n_dims).
  // convert_hf_to_gguf.py writes such tensors as f32, and llama-quantize leaves them alone, both of
  // llama.cpp: its kernels for norms and biases are made for that.
  if (info.id() == kOneDimensional || weight.codec == source_codec(codecs, facts)) return {};
  return fmt::format(
      "1-D in a GGUF file, and stored as {}: llama.cpp has norms, biases and other 1-D tensors in "
      "f32, and may not run them otherwise; give them format = \"keep\"{}",
      CodecRegistry::short_name(info), facts.weight.dtype == DType::f32 ? "" : " or \"f32\"");
}

}  // namespace synps
