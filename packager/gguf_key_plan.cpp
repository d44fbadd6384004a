#include "gguf_key_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "gguf_file_type.h"
#include "gguf_layout.h"
#include "gguf_parts.h"
#include "synps/error.h"

namespace synps {
namespace {

constexpr std::string_view kFileType = "general.file_type";
constexpr std::string_view kBlocksVersion = "general.quantization_version";
constexpr std::string_view kAlignment = "general.alignment";
constexpr std::uint64_t kDefaultAlignment = 32;

/// GGML_QNT_VERSION of ggml: the version of the blocks that codecs write and read.
constexpr std::uint32_t kKnownBlocks = 2;

std::optional<std::uint64_t> number_of(const Checkpoint& checkpoint,
                                       const SourceKeyValue& carried) {
  return GgufValueReader(checkpoint.files()[carried.file]).unsigned_integer(carried.value);
}

class KeyPlanner {
 public:
  KeyPlanner(const Checkpoint& checkpoint, Plan& plan)
      : checkpoint_(checkpoint), plan_(plan), gguf_(*plan.gguf) {}

  void plan();

 private:
  void add(std::size_t index);
  void drop(std::size_t index);
  void replace(std::size_t index, std::uint32_t value);
  void add_file_type(std::size_t index);
  void add_blocks_version(std::size_t index);
  const GgufType* main_type() const;
  bool has_blocks() const;
  bool source_has_blocks() const;

  const Checkpoint& checkpoint_;
  Plan& plan_;
  GgufPlan& gguf_;
};

void KeyPlanner::add(std::size_t index) {
  gguf_.key_values.push_back({checkpoint_.key_values()[index].value.key, index, {}});
}

void KeyPlanner::drop(std::size_t index) {
  gguf_.changes.push_back({checkpoint_.key_values()[index].value.key, index, {}});
}

void KeyPlanner::replace(std::size_t index, std::uint32_t value) {
  const std::string& key = checkpoint_.key_values()[index].value.key;
  gguf_.key_values.push_back({key, index, value});
  gguf_.changes.push_back({key, index, value});
}

/// The type that most elements of weights are stored in, of several the one with the lowest number.
/// Tensors of integers are no weights. Null when there are none.
const GgufType* KeyPlanner::main_type() const {
  std::vector<std::uint64_t> elements(all_gguf_types().size(), 0);
  for (const PlannedWeight& planned : plan_.weights) {
    const Weight& weight = checkpoint_.tensors()[planned.tensor].weight;
    if (dtype_is_float(weight.dtype))
      elements[planned.gguf_type->number] += weight.shape.elements();  // of one file: no overflow
  }
  const auto most = std::max_element(elements.begin(), elements.end());
  if (most == elements.end() || *most == 0) return nullptr;
  return find_gguf_type(static_cast<std::uint32_t>(most - elements.begin()));
}

bool KeyPlanner::has_blocks() const {
  return std::any_of(plan_.weights.begin(), plan_.weights.end(),
                     [](const PlannedWeight& each) { return !each.gguf_type->dtype; });
}

bool KeyPlanner::source_has_blocks() const {
  return std::any_of(plan_.weights.begin(), plan_.weights.end(), [&](const PlannedWeight& each) {
    return !gguf_type_of(checkpoint_.tensors()[each.tensor]).dtype;
  });
}

/// It is wrong only where types have changed, and only if it does not name the main type.
void KeyPlanner::add_file_type(std::size_t index) {
  const bool same = std::all_of(plan_.weights.begin(), plan_.weights.end(),
                                [](const PlannedWeight& each) { return each.copied; });
  const GgufType* type = same ? nullptr : main_type();
  if (type == nullptr) return add(index);
  const auto number = number_of(checkpoint_, checkpoint_.key_values()[index]);
  if (number && names_gguf_type(*number, *type)) return add(index);
  const auto fitting = gguf_file_type(*type);
  fitting ? replace(index, *fitting) : drop(index);
}

void KeyPlanner::add_blocks_version(std::size_t index) {
  const SourceKeyValue& carried = checkpoint_.key_values()[index];
  if (number_of(checkpoint_, carried) == kKnownBlocks) return add(index);
  if (source_has_blocks())
    throw Error({.code = ErrorCode::checkpoint,
                 .file = checkpoint_.files()[carried.file].path(),
                 .what = "quantized tensors of a version that is not known here",
                 .field = "key " + quote(carried.value.key),
                 .offset = carried.value.offset,
                 .want = fmt::format("{}", kKnownBlocks)});
  has_blocks() ? replace(index, kKnownBlocks) : add(index);
}

void KeyPlanner::plan() {
  const std::vector<SourceKeyValue>& all = checkpoint_.key_values();
  gguf_.alignment = gguf_alignment(checkpoint_);
  gguf_.source_version = checkpoint_.gguf_version();
  bool has_blocks_version = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& key = all[i].value.key;
    if (is_gguf_split_key(key)) {
      drop(i);
    } else if (key == kFileType) {
      add_file_type(i);
    } else if (key == kBlocksVersion) {
      has_blocks_version = true;
      add_blocks_version(i);
    } else {
      add(i);
    }
  }
  if (has_blocks_version || !has_blocks()) return;
  gguf_.key_values.push_back({std::string(kBlocksVersion), {}, kKnownBlocks});
  gguf_.changes.push_back({std::string(kBlocksVersion), {}, kKnownBlocks});
}

}  // namespace

bool may_change_in_gguf(std::string_view key) noexcept {
  return key == kFileType || key == kBlocksVersion || is_gguf_split_key(key);
}

std::uint64_t gguf_alignment(const Checkpoint& checkpoint) {
  for (const SourceKeyValue& each : checkpoint.key_values())
    if (each.value.key == kAlignment)
      return number_of(checkpoint, each).value_or(kDefaultAlignment);
  return kDefaultAlignment;
}

void plan_gguf_keys(const Checkpoint& checkpoint, Plan& plan) {
  KeyPlanner(checkpoint, plan).plan();
}

}  // namespace synps
