#include "diff_side.h"

#include "synps/diff.h"
#include "text.h"

namespace synps::cli {

SideSummary summarize(const Checkpoint& source) {
  SideSummary out;
  out.path = source.path();
  out.kind = source.artifact() != nullptr ? "artifact"
             : source.gguf_version() != 0 ? "GGUF"
                                          : "safetensors";
  out.file_bytes = source.file_bytes();
  for (const SourceTensor& tensor : source.tensors()) {
    if (is_key_value_encoding(tensor.encoding)) continue;
    ++out.weights;
    out.elements += tensor.weight.shape.elements();
    out.weight_bytes += bytes_in_file(tensor);
  }
  return out;
}

std::string encoding_text(const SourceTensor& tensor) {
  return short_codec(tensor.encoding);
}

}  // namespace synps::cli
