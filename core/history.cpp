#include "synps/history.h"

#include "synps/conversion.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

bool step_rounded(const CodecRegistry& codecs, const StoredWeight& weight, const Codec* codec) {
  if (weight.lossless) return false;
  if (weight.history.empty()) return true;
  const CodecRef& last = weight.history.back();
  const Codec* before = codecs.find(last.package, last.name);
  const DType values = before != nullptr ? value_dtype(*before) : DType::f32;
  return codec == nullptr || !codec->info().stores_exactly(values);
}

}  // namespace

bool stored_step_rounded(const CodecRegistry& codecs, const StoredWeight& weight) {
  return step_rounded(codecs, weight, stored_codec(codecs, weight));
}

std::vector<CodecRef> rounded_so_far(const CodecRegistry& codecs, const StoredWeight& weight) {
  return rounded_so_far(codecs, weight, stored_codec(codecs, weight));
}

std::vector<CodecRef> rounded_so_far(const CodecRegistry& codecs, const StoredWeight& weight,
                                     const Codec* codec) {
  std::vector<CodecRef> history = weight.history;
  if (step_rounded(codecs, weight, codec)) history.push_back(weight.codec);
  return history;
}

}  // namespace synps
