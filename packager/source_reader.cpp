#include "source_reader.h"

#include <algorithm>

#include "memory_model.h"
#include "pieces.h"
#include "synps/artifact_set.h"
#include "synps/checked.h"
#include "synps/component_rows.h"
#include "synps/row_order.h"
#include "synps/value_problems.h"

namespace synps {
namespace {

/// The piece, whose rows may be cut anywhere, up to where a codec of that granule cuts them.
Piece whole_blocks(const Piece& piece, const Weight& weight, std::uint64_t granule) {
  Piece whole = piece;
  whole.weight = &weight;
  const std::uint64_t columns = weight.shape.columns();
  if (piece.columns == columns) return whole;
  const std::uint64_t column = piece.first_element % columns;
  const ColumnRange cut = whole_columns({column, column + piece.columns}, columns, granule);
  whole.first_element -= column - cut.begin;
  whole.columns = cut.size();
  return whole;
}

}  // namespace

std::uint64_t dense_bytes(DType dtype, std::uint64_t elements) noexcept {
  const unsigned bits = dtype_bits(dtype);
  // Eight elements are whole bytes whatever the dtype, and dividing first cannot wrap.
  return elements / 8 * bits + elements % 8 * bits / 8;
}

void SourceReader::read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                        const Codec& codec, const Piece& piece, std::span<float> out,
                        ValueReport& report) {
  if (!codec.info().dense) {
    if (tensor.stored != nullptr)
      read_stored(checkpoint, tensor, codec, piece, out);
    else
      read_blocks(checkpoint, tensor, codec, piece, out);
    return;
  }
  const DType dtype = *codec.info().dense_dtype;  // an artifact's weight may have another one
  const std::uint64_t begin = dense_bytes(dtype, piece.first_element);
  if (codec.stores_native_f32())
    return tensors_.read(checkpoint, tensor, 0, begin, std::as_writable_bytes(out));
  const std::span<std::byte> bytes = bytes_.take(dense_bytes(dtype, piece.elements()));
  tensors_.read(checkpoint, tensor, 0, begin, bytes);
  const std::span<const std::byte> in[] = {bytes};
  codec.decode(piece, in, out);
  if (dtype == DType::f64) report_narrowing(bytes, out, piece.first_element, report);
}

void SourceReader::read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                        const Codec& codec, const std::optional<FoldedScale>& scale,
                        const Piece& piece, std::span<float> out, ValueReport& report) {
  read(checkpoint, tensor, codec, piece, out, report);
  if (scale) scales_.fold(checkpoint, tensor.weight, *scale, piece, out, report);
}

/// A piece is cut where the codec that encodes it wants, which may be inside a source block: whole
/// blocks are decoded, and what lies in the piece is taken.
void SourceReader::read_blocks(const Checkpoint& checkpoint, const SourceTensor& tensor,
                               const Codec& codec, const Piece& piece, std::span<float> out) {
  const Piece whole = whole_blocks(piece, tensor.weight, tensor.block_elements);
  const std::uint64_t begin = tensor.bytes_of(whole.first_element);
  const std::span<std::byte> bytes =
      bytes_.take(tensor.bytes_of(whole.first_element + whole.elements()) - begin);
  checkpoint.read(tensor, begin, bytes);
  const std::span<const std::byte> in[] = {bytes};
  if (whole.elements() == piece.elements()) {
    codec.decode(whole, in, out);
    return;
  }
  held_ = {};
  const std::span<float> values = blocks_.take(whole.elements());
  codec.decode(whole, in, values);
  const std::uint64_t before = piece.first_element - whole.first_element;
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(before), out.size(), out.begin());
}

/// The stored codec may cut rows elsewhere than the one that encodes, or not at all. What was
/// decoded beside a piece is kept, for the next one most often is a part of it.
void SourceReader::read_stored(const Checkpoint& checkpoint, const SourceTensor& tensor,
                               const Codec& codec, const Piece& piece, std::span<float> out) {
  const StoredWeight& stored = *tensor.stored;
  if (started_ != &stored || started_with_ != &codec) {
    started_ = nullptr;
    held_ = {};
    stored_.start(*checkpoint.artifact()->files()[tensor.file], stored, codec);
    started_ = &stored;
    started_with_ = &codec;
  }
  const Piece whole = whole_blocks(piece, stored.weight, codec.row_granule());
  if (whole.elements() == piece.elements()) return stored_.read(whole, out);
  const std::span<float> values = blocks_.take(whole.elements());
  if (held_.first_element != whole.first_element || held_.columns != whole.columns) {
    held_ = {};
    stored_.read(whole, values);
    held_ = whole;
  }
  const std::uint64_t before = piece.first_element - whole.first_element;
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(before), out.size(), out.begin());
}

std::uint64_t stored_source_bytes(const StoredWeight& weight, const Codec& codec,
                                  std::uint64_t elements) {
  const Shape& shape = weight.weight.shape;
  if (codec.info().dense || shape.elements() == 0) return tensor_reader_bytes(weight);
  const std::uint64_t columns = shape.columns();
  const std::uint64_t rows = std::min(shape.rows(), std::max<std::uint64_t>(1, elements / columns));
  const Piece whole{&weight.weight, 0, rows, columns};
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < weight.components.size(); ++c) {
    const StoredComponent& stored = weight.components[c];
    const std::uint64_t all = stored.component.bytes;
    bytes = saturating_add(
        bytes, stored.component.per_weight ? all : piece_size(codec, weight, c, whole, all));
    bytes += rows_buffer(stored) + (stored.compressed() ? kInflaterBytes : 0);
  }
  // Rows that are cut are decoded to the next blocks, or whole.
  const std::uint64_t granule = codec.row_granule();
  const std::uint64_t wider =
      granule == 0 ? columns : std::min(columns, saturating_add(elements, 2 * granule));
  const bool cut = columns > kPieceElements / kOrderRows && granule != 1;
  const std::uint64_t values = saturating_mul(wider, sizeof(float));
  if (cut) bytes = saturating_add(bytes, values);
  if (codec.info().file.empty()) return bytes;
  return saturating_add(bytes, saturating_add(bytes, std::max(values, rows * columns * 4)));
}

}  // namespace synps
