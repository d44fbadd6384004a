#include "synps/weight_conversion.h"

#include <fmt/format.h>

#include <utility>

#include "storage_converter.h"
#include "storage_scale.h"
#include "storage_state.h"
#include "synps/builtin_codecs.h"
#include "synps/conversion.h"
#include "synps/history.h"
#include "synps/row_order.h"
#include "usage_error.h"

namespace synps {
namespace {

enum class Values : std::uint8_t { stay, may_round };

/// Names the weight as pack does.
Error refusal(const StorageState& from, Problem problem) {
  problem.what += fmt::format(": {}", quote(from.stored.weight.path));
  return Error(std::move(problem));
}

void check_source(const StorageState& from) {
  if (!from.on_host())
    throw usage_error("", from.stored.weight.path, "a weight that is not on this host",
                      fmt::format("device {}", quote(from.stored.device)), "device 'local'",
                      "bring it to the host first");
}

void check_encoding(const StorageState& from, const Codec& target, Values values) {
  if (from.codec == nullptr)
    throw usage_error("", from.stored.weight.path, "nothing decodes this weight",
                      fmt::format("{} kept as stored", dtype_name(from.stored.weight.dtype)));
  const ConversionKind kind = conversion_kind(from.codec, target);
  if (kind == ConversionKind::refused) throw refusal(from, cannot_encode(target.info()));
  if (values == Values::stay && (kind == ConversionKind::lossy || awaits_scale(from))) {
    Problem problem = would_round(from.codec->info(), target.info());
    if (awaits_scale(from))  // a product is a new value
      problem.found += fmt::format(", and its scale {}", quote(from.stored.scale->path));
    throw refusal(from, std::move(problem));
  }
  if (const Support support = target.supports(from.stored.weight); !support.ok)
    throw refusal(from, cannot_store(target.info(), support));
}

void check_order(const StorageState& to) {
  if (to.order() == Order::rows1) return;
  if (to.codec != nullptr && can_be_rows8(*to.codec, to.stored.weight)) return;
  Problem problem{.code = ErrorCode::policy, .what = "a weight cannot have this order"};
  problem.field = to.stored.weight.path;
  problem.found = fmt::format(
      "{} for {} of shape {}", to_string(to.order()),
      to.codec != nullptr ? CodecRegistry::short_name(to.codec->info()) : "a kept weight",
      to.stored.weight.shape.to_string());
  problem.want = "rows1, or a matrix of 8 rows or more with more than one block a row";
  throw Error(std::move(problem));
}

void check_compression(const StorageState& from, const CompressRequest& asked) {
  const bool fits = asked.method == Compression::none
                        ? asked.level == 0
                        : asked.level >= kMinZstdLevel && asked.level <= kMaxZstdLevel;
  if (!fits)
    throw usage_error("", from.stored.weight.path, "a level that the compression does not have",
                      to_string(asked), fmt::format("{} to {}", kMinZstdLevel, kMaxZstdLevel));
}

void set_encoding(StorageState& to, const StorageState& from, const Codec& codec, Values values) {
  check_encoding(from, codec, values);
  check_scale(from);
  to.codec = &codec;
  to.stored.history = rounded_so_far(builtin_registry(), from.stored, from.codec);
  to.stored.lossless = from.stored.lossless && !awaits_scale(from) &&
                       codec.info().stores_exactly(from.stored.weight.dtype);
  to.scale = nullptr;
  if (to.stored.scale) to.stored.scale->folded = true;
}

/// Whether values are encoded: in another codec, or to multiply a scale in, which codes that were
/// dequantized at load still await.
bool encodes_anew(const StorageState& from, const StorageTarget& target, Values values) {
  const CodecInfo& wanted = target.codec->info();
  if (from.codec == nullptr || CodecRef::of(wanted) != CodecRef::of(from.codec->info()))
    return true;
  return values == Values::may_round && wanted.encodes && awaits_scale(from);
}

/// What the result is to be, without components and bytes.
StorageState target_state(const StorageState& from, const StorageTarget& target, Values values) {
  check_source(from);
  const bool empty = from.stored.weight.shape.elements() == 0;
  StorageState to;
  to.stored = from.stored;
  to.stored.components.clear();
  to.stored.form.residency = Residency::heap;
  to.codec = from.codec;
  to.scale = from.scale;
  const bool encodes = !empty && target.codec != nullptr && encodes_anew(from, target, values);
  if (encodes) set_encoding(to, from, *target.codec, values);
  if (target.order)
    to.stored.form.order = *target.order;
  else if (encodes && !can_be_rows8(*to.codec, to.stored.weight))
    to.stored.form.order = Order::rows1;
  check_order(to);
  if (target.orientation) to.stored.form.orientation = *target.orientation;
  if (target.compress) check_compression(from, *target.compress);
  if (target.compress && !empty) to.stored.asked.compress = *target.compress;
  return to;
}

bool same_bytes(const StorageState& a, const StorageState& b) {
  return a.codec == b.codec && a.order() == b.order() && a.compression() == b.compression() &&
         awaits_scale(a) == awaits_scale(b);
}

SharedStorage convert(const SharedStorage& source, const StorageTarget& target,
                      const ConversionOptions& options, Values values) {
  if (source == nullptr) throw usage_error("", "", "no storage to convert");
  const StorageState& from = source->state();
  StorageState to = target_state(from, target, values);
  if (options.values != nullptr) *options.values = {};
  if (same_bytes(from, to)) {
    if (to.stored.form.orientation == from.stored.form.orientation) return source;
    if (from.bytes->owned()) {
      to.stored.components = from.stored.components;
      to.bytes = from.bytes;
      return share(std::move(to));
    }
  }
  set_components(to);
  convert_bytes(from, to, options);
  return share(std::move(to));
}

}  // namespace

SharedStorage repack(const SharedStorage& source, const StorageTarget& target,
                     const ConversionOptions& options) {
  return convert(source, target, options, Values::stay);
}

SharedStorage requantize(const SharedStorage& source, const StorageTarget& target,
                         const ConversionOptions& options) {
  return convert(source, target, options, Values::may_round);
}

SharedStorage encode_values(const Weight& weight, std::span<const float> values,
                            const StorageTarget& target, const ConversionOptions& options) {
  if (target.codec == nullptr) throw usage_error("", weight.path, "no codec to encode values in");
  StorageParts parts;
  parts.weight = weight;
  parts.codec = builtin_registry().for_dtype(DType::f32);
  parts.components = {std::as_bytes(values)};
  const SharedStorage source = WeightStorage::of(std::move(parts));
  if (options.values != nullptr) *options.values = {};
  StorageState to = target_state(source->state(), target, Values::may_round);
  to.stored.history.clear();  // nothing has stored these values before
  to.stored.lossless = is_lossless(*target.codec, weight.dtype);
  set_components(to);
  convert_bytes(source->state(), to, options);
  return share(std::move(to));
}

}  // namespace synps
