#include "diff_side.h"

#include "text.h"

namespace synps::cli {

SideSummary summarize(const Checkpoint& source) {
  SideSummary out;
  out.path = source.path();
  out.kind = source.gguf_version() != 0 ? "GGUF" : "safetensors";
  for (const SourceTensor& tensor : source.tensors()) {
    if (is_key_value_encoding(tensor.encoding)) continue;
    ++out.weights;
    out.elements += tensor.weight.shape.elements();
    out.weight_bytes += tensor.bytes;
  }
  for (const InputFile& file : source.files()) out.file_bytes += file.size();
  return out;
}

std::string encoding_text(const SourceTensor& tensor) {
  return short_codec(tensor.encoding);
}

}  // namespace synps::cli
