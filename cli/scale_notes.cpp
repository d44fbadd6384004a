#include "scale_notes.h"

#include <fmt/core.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "synps/error.h"
#include "text.h"

namespace synps::cli {
namespace {

std::string per(ScaleForm form) {
  if (form == ScaleForm::block) return fmt::format("per {}x{} block", kScaleBlock, kScaleBlock);
  return fmt::format("per {}", to_string(form));
}

/// Weights of which the same is said, and one of them.
struct Noted {
  std::size_t count = 0;
  std::string example;

  void add(const std::string& path) {
    if (count++ == 0) example = path;
  }
  std::string text(std::string_view noun) const {
    return count == 1
               ? escape_for_display(example)
               : fmt::format("{}, such as {}", counted(count, noun), escape_for_display(example));
  }
};

std::string line(const std::string& text, std::size_t width) {
  return wrapped(text, width, 4) + "\n";
}

bool decodes(const StoredWeight& stored) {
  return stored.form.encoding.kind != Encoding::Kind::keep_as_stored;
}

/// Whether a weight is 8-bit floats that may be scaled; blocks of GGUF have a dtype of their own.
bool is_float8_weight(const Weight& weight, const std::string& source) {
  return is_float8(weight.dtype) && source == encoding_name(weight.dtype);
}

/// Folded scales of a report, by form: how many, and the first.
struct Folded {
  std::size_t count = 0;
  std::string weight;
  const StoredScale* scale = nullptr;
};

std::string folded_text(const std::map<ScaleForm, Folded>& folded, std::size_t width) {
  std::string out;
  for (const auto& [form, each] : folded)
    out += line(each.count == 1
                    ? fmt::format("scale: {}: scale {}", escape_for_display(each.weight),
                                  scale_origin(*each.scale))
                    : fmt::format("scales: {}, such as {}: scale {}", counted(each.count, "weight"),
                                  escape_for_display(each.weight), scale_origin(*each.scale)),
                width);
  return out;
}

}  // namespace

std::string scale_text(const StoredScale& scale) {
  return fmt::format("scale {}, {}", scale.folded ? "folded in" : "apart", per(scale.form));
}

std::string scale_origin(const StoredScale& scale) {
  return fmt::format("{} {}, {}", scale.folded ? "folded in from" : "apart in",
                     escape_for_display(scale.path), per(scale.form));
}

std::string scales_text(const WeightReport& report, std::size_t width) {
  std::map<ScaleForm, Folded> folded;
  Noted unscaled;
  Noted activations;
  bool any = false;
  for (const ReportedWeight& weight : report.weights) {
    const StoredWeight& stored = *weight.stored;
    const std::string& path = stored.weight.path;
    const bool float8 = is_float8_weight(stored.weight, stored.source);
    any = any || float8;
    if (is_activation_scale(path)) {
      activations.add(path);
    } else if (stored.scale && stored.scale->folded) {
      Folded& each = folded[stored.scale->form];
      if (each.count++ == 0) each.weight = path, each.scale = &*stored.scale;
    } else if (float8 && decodes(stored)) {
      unscaled.add(path);
    }
  }
  if (!any) return {};
  std::string out = folded_text(folded, width);
  if (unscaled.count != 0)
    out += line(
        fmt::format("no scale: 8-bit floats decoded as they stand: {}", unscaled.text("weight")),
        width);
  if (activations.count != 0)
    out += line(fmt::format("scales of activations are weights of their own: {}",
                            activations.text("tensor")),
                width);
  return out;
}

std::string scales_text(const Checkpoint& checkpoint, std::size_t width) {
  std::map<ScaleForm, std::pair<Noted, std::string>> bound;
  Noted unscaled;
  Noted activations;
  bool any = false;
  std::set<std::string_view> faulty;  // of which the notes speak
  for (const CheckpointFault& fault : checkpoint.faults())
    for (const std::size_t i : fault.tensors) faulty.insert(checkpoint.tensors()[i].weight.path);
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    const std::string& path = tensor.weight.path;
    const bool float8 = is_float8_weight(tensor.weight, tensor.encoding);
    any = any || float8;
    if (is_activation_scale(path)) {
      activations.add(path);
    } else if (tensor.scale) {
      auto& [weights, scale] = bound[tensor.scale->form];
      weights.add(path);
      if (weights.count == 1) scale = checkpoint.tensors()[tensor.scale->tensor].weight.path;
    } else if (float8 && tensor.packed_as.empty() && faulty.count(path) == 0) {
      unscaled.add(path);
    }
  }
  if (!any) return {};
  std::string out;
  for (const auto& [form, each] : bound)
    out += line(fmt::format("scaled {} when decoded: {} by {}", per(form),
                            each.first.text("weight"), escape_for_display(each.second)),
                width);
  if (unscaled.count != 0)
    out += line(fmt::format("8-bit floats without a scale: {}", unscaled.text("weight")), width);
  if (activations.count != 0)
    out += line(fmt::format("scales of activations, for no weight: {}", activations.text("tensor")),
                width);
  return out.empty() ? out : "\n" + out;
}

std::string faults_text(const Checkpoint& checkpoint, std::size_t width) {
  std::vector<const CheckpointFault*> faults;
  for (const CheckpointFault& fault : checkpoint.faults()) faults.push_back(&fault);
  if (faults.empty()) return {};
  std::string out;
  for (const Problem& problem : fault_problems(checkpoint, faults)) {
    out += "\n";
    out += line(fmt::format("note: {}; {}", escape_for_display(problem.what),
                            escape_for_display(problem.hint)),
                width);
  }
  return out;
}

void write_scale(JsonWriter& json, const StoredScale& scale) {
  json.begin_object().key("path").string(scale.path);
  json.key("form").string(to_string(scale.form));
  json.key("folded").boolean(scale.folded).end_object();
}

void write_folded_scales(JsonWriter& json, const WeightReport& report) {
  bool any = false;
  for (const ReportedWeight& weight : report.weights) {
    const StoredWeight& stored = *weight.stored;
    if (!stored.scale || !stored.scale->folded) continue;
    if (!any) json.key("folded_scales").begin_array();
    any = true;
    json.begin_object().key("path").string(stored.weight.path);
    json.key("scale").string(stored.scale->path);
    json.key("form").string(to_string(stored.scale->form)).end_object();
  }
  if (any) json.end_array();
}

void write_faults(JsonWriter& json, const Checkpoint& checkpoint) {
  std::vector<const CheckpointFault*> faults;
  for (const CheckpointFault& fault : checkpoint.faults()) faults.push_back(&fault);
  json.begin_array();
  for (const Problem& problem : fault_problems(checkpoint, faults)) json.string(problem.what);
  json.end_array();
}

}  // namespace synps::cli
