#include "source_reader.h"

#include <algorithm>

#include "synps/value_problems.h"

namespace synps {
std::uint64_t dense_bytes(DType dtype, std::uint64_t elements) noexcept {
  const unsigned bits = dtype_bits(dtype);
  // Eight elements are whole bytes whatever the dtype, and dividing first cannot wrap.
  return elements / 8 * bits + elements % 8 * bits / 8;
}

void SourceReader::read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                        const Codec& codec, const Piece& piece, std::span<float> out,
                        ValueReport& report) {
  if (!codec.info().dense) {
    read_blocks(checkpoint, tensor, codec, piece, out);
    return;
  }
  const DType dtype = tensor.weight.dtype;
  if (codec.stores_native_f32())
    return checkpoint.read(tensor, dense_bytes(dtype, piece.first_element),
                           std::as_writable_bytes(out));
  const std::span<std::byte> bytes = bytes_.take(dense_bytes(dtype, piece.elements()));
  checkpoint.read(tensor, dense_bytes(dtype, piece.first_element), bytes);
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
  const std::uint64_t block = tensor.block_elements;
  const std::uint64_t before = piece.first_element % block;  // a row is whole blocks
  const std::uint64_t after = (block - (before + piece.elements()) % block) % block;
  Piece whole = piece;
  whole.weight = &tensor.weight;
  whole.first_element -= before;
  if (before + after != 0) whole.columns += before + after;
  const std::uint64_t begin = tensor.bytes_of(whole.first_element);
  const std::span<std::byte> bytes =
      bytes_.take(tensor.bytes_of(whole.first_element + whole.elements()) - begin);
  checkpoint.read(tensor, begin, bytes);
  const std::span<const std::byte> in[] = {bytes};
  if (before + after == 0) {
    codec.decode(whole, in, out);
    return;
  }
  const std::span<float> values = blocks_.take(whole.elements());
  codec.decode(whole, in, values);
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(before), out.size(), out.begin());
}

}  // namespace synps
