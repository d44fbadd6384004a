#include "synps/pack_source.h"

#include "synps/row_order.h"

namespace synps {

PackSource pack_source(const CodecRegistry& codecs, const WeightFacts& facts,
                       const WeightResolution& resolution) {
  const Shape& shape = facts.weight.shape;
  const bool empty = shape.elements() == 0;
  const Codec* decodes = source_codec(codecs, facts);
  const bool copied =
      empty || resolution.keep || resolution.codec == nullptr || resolution.codec == decodes;
  const Codec* stored = copied ? decodes : resolution.codec;
  PackSource source;
  source.codec = stored != nullptr ? stored->info().id() : "keep";
  source.converts = !copied;
  source.packed = stored != nullptr && !stored->info().dense;
  source.matrix = shape.rank() == 2;
  source.rows8 = source.packed && source.matrix && !empty && can_be_rows8(*stored, facts.weight);
  source.order = facts.order;
  source.is_volatile = resolution.scheme && resolution.scheme->is_volatile;
  if (!empty) source.compression = resolution.form.compress.method;
  return source;
}

}  // namespace synps
