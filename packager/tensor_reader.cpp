#include "tensor_reader.h"

#include <algorithm>

#include "memory_model.h"
#include "stored_reader.h"
#include "synps/artifact_set.h"
#include "synps/frame_inflater.h"

namespace synps {

ComponentRows& TensorReader::reader_of(const Checkpoint& checkpoint, const SourceTensor& tensor) {
  const ArtifactReader& file = *checkpoint.artifact()->files()[tensor.file];
  if (!rows_)
    rows_.emplace(file);
  else
    rows_->read_from(file);
  return *rows_;
}

void TensorReader::read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                        std::size_t component, std::uint64_t offset, std::span<std::byte> out) {
  if (tensor.stored == nullptr) return checkpoint.read(tensor, offset, out);
  reader_of(checkpoint, tensor)
      .read_as_stored(*tensor.stored, tensor.stored->components[component], offset, out);
}

void TensorReader::read_rows1(const Checkpoint& checkpoint, const SourceTensor& tensor,
                              const Codec& codec, std::size_t component, std::uint64_t offset,
                              std::span<std::byte> out) {
  const StoredWeight& stored = *tensor.stored;
  reader_of(checkpoint, tensor)
      .read(stored, stored.components[component], row_blocks(codec, stored, component), offset,
            out);
}

std::uint64_t tensor_reader_bytes(const StoredWeight& weight) noexcept {
  std::uint64_t inflater = 0;
  std::uint64_t rows = 0;
  for (const StoredComponent& component : weight.components) {
    if (component.compressed()) inflater = kInflaterBytes;
    rows = std::max(rows, rows_buffer(component));
  }
  return inflater + rows;
}

}  // namespace synps
