#include "synps/stored_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "synps/error.h"
#include "synps/row_order.h"

namespace synps {
namespace {

std::string describe(const Component& component) {
  return fmt::format("{} {} {}", component.name, dtype_name(component.dtype),
                     component.shape.to_string());
}

/// Whether a component claims to be in rows8, which this weight is never stored in.
bool has_false_order(const StoredWeight& weight, const Codec* codec) {
  const bool rows8 = std::any_of(weight.components.begin(), weight.components.end(),
                                 [](const auto& stored) { return stored.order == Order::rows8; });
  return rows8 &&
         (codec == nullptr || weight.codec.is_keep() || !can_be_rows8(*codec, weight.weight));
}

/// What must be stored for the weight. Throws Error when there is no answer.
std::vector<Component> expected_components(const StoredWeight& weight, const Codec* codec) {
  const Weight& logical = weight.weight;
  if (!weight.codec.is_keep()) {
    if (logical.shape.elements() == 0 && !codec->info().dense)
      throw Error({.code = ErrorCode::artifact, .what = "a weight without elements is kept"});
    if (const Support support = codec->supports(logical); !support.ok)
      throw Error({.code = ErrorCode::artifact, .what = support.reason});
    return codec->components(logical);
  }
  const auto bytes = logical.shape.bytes(logical.dtype);
  if (!bytes)
    throw Error({.code = ErrorCode::artifact, .what = "its elements are no whole number of bytes"});
  return {{"values", logical.dtype, logical.shape, *bytes, false}};
}

}  // namespace

std::string stored_in(const StoredWeight& weight) {
  return weight.codec.is_keep() ? weight.source : weight.codec.id();
}

Compression compression_of(const StoredWeight& weight) noexcept {
  for (const StoredComponent& component : weight.components)
    if (component.compressed()) return component.compression;
  return Compression::none;
}

CompressRequest compress_request_of(const StoredWeight& weight) noexcept {
  const Compression method = compression_of(weight);
  if (method == weight.asked.compress.method || weight.weight.shape.elements() == 0)
    return weight.asked.compress;
  return {method, method == Compression::none ? 0 : kDefaultZstdLevel};
}

const Codec* stored_codec(const CodecRegistry& codecs, const StoredWeight& weight) noexcept {
  if (weight.codec.is_keep()) return codecs.for_dtype(weight.weight.dtype);
  const Codec* codec = codecs.find(weight.codec.package, weight.codec.name);
  return codec != nullptr && codec->info().revision == weight.codec.revision ? codec : nullptr;
}

std::string component_fault(const StoredWeight& weight, const Codec* codec) {
  std::vector<Component> wanted;
  try {
    wanted = expected_components(weight, codec);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::package) throw;
    return fmt::format("{} cannot hold this weight: {}", weight.codec.id(),
                       error.problems().front().what);
  }
  if (wanted.size() != weight.components.size())
    return fmt::format("it has {} components, and {} stores {}", weight.components.size(),
                       weight.codec.id(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (const Component& found = weight.components[i].component; found != wanted[i])
      return fmt::format("its component {} is {}, and {} stores {}", i, describe(found),
                         weight.codec.id(), describe(wanted[i]));
  if (has_false_order(weight, codec))
    return fmt::format(
        "it claims the order rows8, which {} has for matrices of {} rows or more, "
        "and more than one block a row",
        weight.codec.id(), kOrderRows);
  return {};
}

}  // namespace synps
