#include "synps/conversion.h"

#include <fmt/format.h>

#include "synps/codec_registry.h"

namespace synps {

DType value_dtype(const Codec& codec) noexcept {
  return codec.info().dense_dtype.value_or(DType::f32);
}

ConversionKind conversion_kind(const Codec* source, const Codec& target) noexcept {
  if (source == nullptr) return ConversionKind::refused;
  const CodecInfo& from = source->info();
  const CodecInfo& to = target.info();
  if (from.package == to.package && from.name == to.name && from.revision == to.revision)
    return ConversionKind::same;
  if (!to.encodes) return ConversionKind::refused;
  return to.stores_exactly(value_dtype(*source)) ? ConversionKind::lossless : ConversionKind::lossy;
}

std::string_view to_string(ConversionKind kind) noexcept {
  switch (kind) {
    case ConversionKind::same:
      return "same";
    case ConversionKind::lossless:
      return "lossless";
    case ConversionKind::lossy:
      return "lossy";
    case ConversionKind::refused:
      break;
  }
  return "refused";
}

Problem cannot_store(const CodecInfo& codec, const Support& support) {
  return {.code = ErrorCode::policy,
          .what = "the codec cannot store a weight",
          .field = CodecRegistry::short_name(codec),
          .found = support.reason};
}

Problem cannot_encode(const CodecInfo& codec) {
  return {.code = ErrorCode::policy,
          .what = "codec is for reading only",
          .found = quote(CodecRegistry::short_name(codec)),
          .want = "a codec that encodes"};
}

Problem would_round(const CodecInfo& source, const CodecInfo& target) {
  return {.code = ErrorCode::policy,
          .what = "repack never changes a value",
          .found = fmt::format("{} to {}", CodecRegistry::short_name(source),
                               CodecRegistry::short_name(target)),
          .hint = "requantize does it"};
}

}  // namespace synps
