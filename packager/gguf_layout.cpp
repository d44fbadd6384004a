#include "gguf_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gguf_key_plan.h"
#include "gguf_tensors.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

constexpr std::uint64_t kPrefixBytes = 24;  // magic, version, counts
constexpr std::uint64_t kLengthBytes = 8;   // before a text
constexpr std::uint64_t kTypeBytes = 4;     // of a value, an array's items, a tensor
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 62;

std::uint64_t checked(std::optional<std::uint64_t> size, const std::string& file) {
  if (size && *size <= kLargestFile) return *size;
  throw Error({.code = ErrorCode::limit,
               .file = file,
               .what = "the GGUF file would be larger than a file can be"});
}

/// Key, type, and what stands before the value's own bytes.
std::uint64_t key_value_bytes(const PlannedKeyValue& planned, const Checkpoint& checkpoint) {
  const std::uint64_t before = kLengthBytes + planned.key.size() + kTypeBytes;
  if (planned.value) return before + (planned.type == GgufValueType::uint16 ? 2 : 4);
  const GgufKeyValue& value = checkpoint.key_values()[*planned.source].value;
  const std::uint64_t own = value.type == GgufValueType::string  ? kLengthBytes
                            : value.type == GgufValueType::array ? kTypeBytes + kLengthBytes
                                                                 : 0;
  return before + own + value.bytes;
}

std::uint64_t description_bytes(const Weight& weight) {
  constexpr std::uint64_t kRank = 4;
  constexpr std::uint64_t kOffset = 8;
  return kLengthBytes + weight.path.size() + kRank + weight.shape.rank() * sizeof(std::uint64_t) +
         kTypeBytes + kOffset;
}

/// Tensors follow each other in the order of their descriptions, which is what ggml wants.
std::uint64_t place_tensors(const GgufPlan& gguf, const std::string& file,
                            std::vector<PlannedWeight>& planned,
                            std::vector<StoredWeight>& weights) {
  std::uint64_t end = 0;
  for (const std::size_t i : gguf.tensors) {
    StoredComponent& stored = weights[i].components.front();
    stored.offset = end;
    stored.stored_bytes = checked(checked_round_up(stored.component.bytes, gguf.alignment), file);
    planned[i].bytes = stored.stored_bytes;
    end = checked(checked_add(end, stored.stored_bytes), file);
  }
  return end;
}

std::vector<std::size_t> in_file_order(const Checkpoint& checkpoint, const Plan& plan) {
  std::vector<std::size_t> order(plan.weights.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto position = [&](std::size_t i) {
    return checkpoint.tensors()[plan.weights[i].tensor].position;
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return position(a) < position(b); });
  return order;
}

}  // namespace

void check_gguf_tensor(const Weight& weight, const std::string& file) {
  if (weight.path.empty() || weight.path.size() > kMaxGgufNameBytes)
    throw Error({.code = ErrorCode::checkpoint,
                 .file = file,
                 .what = "a tensor's name is of a length that GGUF does not allow",
                 .field = "tensor " + quote(weight.path),
                 .found = fmt::format("{} bytes", weight.path.size()),
                 .want = fmt::format("1 to {}", kMaxGgufNameBytes),
                 .hint = "rename the tensor in the checkpoint"});
  if (weight.shape.rank() > kMaxGgufDimensions)
    throw Error({.code = ErrorCode::checkpoint,
                 .file = file,
                 .what = "a tensor has more dimensions than GGUF allows",
                 .field = "tensor " + quote(weight.path),
                 .found = fmt::format("{}", weight.shape.rank()),
                 .want = fmt::format("at most {}", kMaxGgufDimensions)});
}

std::uint64_t gguf_header_bytes(const Checkpoint& checkpoint, const Plan& plan) {
  const std::string& file = checkpoint.path();
  std::uint64_t bytes = kPrefixBytes;
  for (const PlannedKeyValue& each : plan.gguf->key_values)
    bytes = checked(checked_add(bytes, key_value_bytes(each, checkpoint)), file);
  for (const PlannedWeight& planned : plan.weights)
    bytes += description_bytes(checkpoint.tensors()[planned.tensor].weight);
  return checked(bytes, file);
}

void lay_out_gguf(const Checkpoint& checkpoint, std::vector<StoredWeight> weights,
                  const CodecRegistry& codecs, Plan& plan) {
  const std::string& file = checkpoint.path();
  for (const PlannedWeight& planned : plan.weights)
    check_gguf_tensor(checkpoint.tensors()[planned.tensor].weight, file);
  plan_gguf_keys(checkpoint, plan);
  plan.gguf->tensors = in_file_order(checkpoint, plan);
  for (StoredWeight& weight : weights) {
    set_sizes(weight, CodecRowBytes(codecs));
    weight.components.front().entry = weight.weight.path;
  }
  plan.layout.index.weights = std::move(weights);
  place_gguf(checkpoint, plan);
}

void place_gguf(const Checkpoint& checkpoint, Plan& plan) {
  const std::string& file = checkpoint.path();
  const std::uint64_t data =
      place_tensors(*plan.gguf, file, plan.weights, plan.layout.index.weights);
  plan.layout.header_bytes =
      checked(checked_round_up(gguf_header_bytes(checkpoint, plan), plan.gguf->alignment), file);
  plan.layout.file_bytes = checked(checked_add(plan.layout.header_bytes, data), file);
  plan.artifact_bytes = plan.layout.file_bytes;
}

}  // namespace synps
