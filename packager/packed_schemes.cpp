#include "packed_schemes.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "tensor_names.h"

namespace synps {
namespace {

constexpr std::string_view kGptq = "GPTQ";
constexpr std::string_view kAwq = "AWQ";
constexpr std::string_view kGptqOrAwq = "GPTQ or AWQ";
constexpr std::string_view kBnb4 = "bitsandbytes 4-bit";
constexpr std::string_view kBnb8 = "bitsandbytes int8";
constexpr std::string_view kPacked = "compressed-tensors packed integers";
constexpr std::string_view kInt8 = "compressed-tensors int8";
constexpr std::string_view kAsymmetric = "compressed-tensors with zero points";
constexpr std::string_view kNvfp4 = "NVFP4";
constexpr std::string_view kMxfp4 = "MXFP4";
constexpr std::string_view kPackedBytes = "bytes with a scale";

struct Tool {
  std::string_view scheme;
  std::string_view name;
};
constexpr std::array<Tool, 11> kTools{{{kGptq, "GPTQModel"},
                                       {kAwq, "AutoAWQ"},
                                       {kGptqOrAwq, "GPTQModel or AutoAWQ"},
                                       {kBnb4, "bitsandbytes (dequantize_4bit)"},
                                       {kBnb8, "bitsandbytes"},
                                       {kPacked, "compressed-tensors"},
                                       {kInt8, "compressed-tensors"},
                                       {kAsymmetric, "compressed-tensors"},
                                       {kNvfp4, "compressed-tensors or TensorRT Model Optimizer"},
                                       {kMxfp4, "transformers (Mxfp4Config(dequantize=True))"},
                                       {kPackedBytes, "the tool that made it"}}};

/// Looks at every tensor that may hold a module's values, and at what stands beside it.
class Finder {
 public:
  Finder(std::vector<SourceTensor>& tensors, std::vector<CheckpointFault>& faults)
      : tensors_(tensors), faults_(faults), names_(tensors) {}

  void run() {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].packed_as.empty()) look_at(i);
  }

 private:
  using Found = std::optional<std::size_t>;

  void look_at(std::size_t i) {
    const NameParts name = name_parts(tensors_[i].weight.path);
    const DType dtype = tensors_[i].weight.dtype;
    if (name.leaf == "qweight" && dtype == DType::i32) return gptq_or_awq(i, name.module);
    if (name.leaf == "weight_packed") return packed_weight(i, name.module);
    if (dtype == DType::u8 && name.leaf.ends_with("_blocks")) return blocks(i);
    if (dtype == DType::u8 && bitsandbytes_4bit(i)) return;
    if (name.leaf == "weight") scaled_weight(i, name.module);
  }

  DType dtype_of(std::size_t i) const { return tensors_[i].weight.dtype; }
  bool is(const Found& found, DType dtype) const { return found && dtype_of(*found) == dtype; }
  bool is_float(const Found& found) const { return found && dtype_is_float(dtype_of(*found)); }

  /// The module's tensors of these names, where they are, after `first`.
  std::vector<std::size_t> members(std::size_t first, std::string_view module,
                                   std::initializer_list<std::string_view> leaves) const {
    std::vector<std::size_t> out{first};
    for (const std::string_view leaf : leaves)
      if (const Found found = names_.find(module, leaf)) out.push_back(*found);
    return out;
  }

  void add(std::string_view scheme, std::vector<std::size_t> tensors) {
    for (const std::size_t i : tensors) tensors_[i].packed_as = scheme;
    faults_.push_back({CheckpointFault::Kind::packed, scheme, std::move(tensors)});
  }

  /// GPTQ packs eight 4-bit codes of a column into an element, AWQ of a row. Zero points are left
  /// out where all are the same.
  void gptq_or_awq(std::size_t qweight, std::string_view module) {
    const Found scales = names_.find(module, "scales");
    const Found order = names_.find(module, "g_idx");
    if (!is_float(scales)) return;
    const std::uint64_t columns = tensors_[*scales].weight.shape.columns();
    const std::uint64_t packed = tensors_[qweight].weight.shape.columns();
    const std::string_view scheme = is(order, DType::i32) || columns == packed ? kGptq
                                    : columns / 8 == packed                    ? kAwq
                                                                               : kGptqOrAwq;
    add(scheme, members(qweight, module, {"qzeros", "scales", "g_idx"}));
  }

  void packed_weight(std::size_t packed, std::string_view module) {
    const Found scale = names_.find(module, "weight_scale");
    const DType dtype = dtype_of(packed);
    const bool in_bytes = dtype == DType::u8 || dtype == DType::i8;
    if (!scale || !(in_bytes || dtype == DType::i32)) return;
    const bool is_fp4 = in_bytes && (is(scale, DType::f8_e4m3) || is(scale, DType::u8) ||
                                     is(scale, DType::f8_e8m0));
    if (!is_fp4 && !is_float(scale)) return;
    const std::string_view scheme = !is_fp4 ? kPacked : is(scale, DType::f8_e4m3) ? kNvfp4 : kMxfp4;
    add(scheme, members(packed, module,
                        {"weight_scale", "weight_shape", "weight_zero_point", "weight_g_idx",
                         "weight_global_scale", "input_global_scale"}));
  }

  /// gpt-oss: `NAME_blocks` of 16 bytes, and an exponent each in `NAME_scales`.
  void blocks(std::size_t i) {
    const std::string& path = tensors_[i].weight.path;
    const std::string_view base =
        std::string_view(path).substr(0, path.size() - std::string_view("_blocks").size());
    const Found scales = names_.find(base, "_scales");
    if (is(scales, DType::u8)) add(kMxfp4, {i, *scales});
  }

  /// Everything about a 4-bit weight stands below its name: `X.weight.absmax`, ….
  bool bitsandbytes_4bit(std::size_t weight) {
    const std::string below = tensors_[weight].weight.path + ".";
    const Found absmax = names_.find(below, "absmax");
    const Found map = names_.find(below, "quant_map");
    const auto [begin, end] = names_.with_prefix(below + "quant_state.bitsandbytes__");
    if (!absmax || !map || begin == end) return false;
    std::vector<std::size_t> tensors{weight};
    const auto [first, last] = names_.with_prefix(below);
    for (std::size_t i = first; i < last; ++i) tensors.push_back(i);
    add(kBnb4, std::move(tensors));
    return true;
  }

  void scaled_weight(std::size_t weight, std::string_view module) {
    const DType dtype = dtype_of(weight);
    const Found scale = names_.find(module, "weight_scale");
    if (is_float8(dtype)) {
      if (names_.find(module, "weight_zero_point"))
        add(kAsymmetric, members(weight, module, {"weight_scale", "weight_zero_point"}));
      return;
    }
    if (dtype == DType::i8) {
      if (is_float(names_.find(module, "SCB")))
        add(kBnb8, members(weight, module, {"SCB", "weight_format"}));
      else if (is_float(scale))
        add(kInt8, members(weight, module, {"weight_scale", "weight_zero_point", "weight_g_idx"}));
      return;
    }
    if (dtype != DType::u8 || !scale) return;
    if (is(scale, DType::f8_e4m3))
      add(kNvfp4, members(weight, module, {"weight_scale", "weight_scale_2"}));
    else if (is(scale, DType::u8) || is(scale, DType::f8_e8m0))
      add(kMxfp4, members(weight, module, {"weight_scale"}));
    else if (is_float(scale))  // BitNet's: four ternary codes a byte
      add(kPackedBytes, members(weight, module, {"weight_scale"}));
  }

  std::vector<SourceTensor>& tensors_;
  std::vector<CheckpointFault>& faults_;
  TensorNames names_;
};

}  // namespace

void find_packed_schemes(std::vector<SourceTensor>& tensors, std::vector<CheckpointFault>& faults) {
  Finder(tensors, faults).run();
}

std::string_view tool_for_scheme(std::string_view scheme) noexcept {
  for (const Tool& tool : kTools)
    if (tool.scheme == scheme) return tool.name;
  return "the tool that made it";
}

}  // namespace synps
