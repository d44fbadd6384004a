#include "synps/history.h"

#include "synps/conversion.h"
#include "synps/stored_codec.h"

namespace synps {

bool stored_step_rounded(const CodecRegistry& codecs, const StoredWeight& weight) {
  if (weight.lossless) return false;
  if (weight.history.empty()) return true;
  const CodecRef& last = weight.history.back();
  const Codec* before = codecs.find(last.package, last.name);
  const Codec* codec = stored_codec(codecs, weight);
  const DType values = before != nullptr ? value_dtype(*before) : DType::f32;
  return codec == nullptr || !codec->info().stores_exactly(values);
}

std::vector<CodecRef> rounded_so_far(const CodecRegistry& codecs, const StoredWeight& weight) {
  std::vector<CodecRef> history = weight.history;
  if (stored_step_rounded(codecs, weight)) history.push_back(weight.codec);
  return history;
}

}  // namespace synps
