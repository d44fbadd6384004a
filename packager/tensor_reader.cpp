#include "tensor_reader.h"

#include <algorithm>

#include "memory_model.h"
#include "stored_reader.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/frame_inflater.h"

namespace synps {
namespace {

/// What is read is the component's: an index that says otherwise has been refused, and a mistake
/// here would give another weight's bytes.
void check_range(const SourceTensor& tensor, std::size_t component, std::uint64_t offset,
                 std::uint64_t size) {
  const StoredWeight& stored = *tensor.stored;
  if (component < stored.components.size() &&
      range_fits(offset, size, stored.components[component].component.bytes))
    return;
  throw Error({.code = ErrorCode::artifact,
               .what = "bytes that are not a weight's are asked for as its values",
               .field = stored.weight.path});
}

}  // namespace

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
  check_range(tensor, component, offset, out.size());
  reader_of(checkpoint, tensor)
      .read_as_stored(*tensor.stored, tensor.stored->components[component], offset, out);
}

void TensorReader::read_rows1(const Checkpoint& checkpoint, const SourceTensor& tensor,
                              const Codec& codec, std::size_t component, std::uint64_t offset,
                              std::span<std::byte> out) {
  const StoredWeight& stored = *tensor.stored;
  check_range(tensor, component, offset, out.size());
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
