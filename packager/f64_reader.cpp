#include "f64_reader.h"

#include <bit>

namespace synps {

bool stores_f64(const SourceTensor& tensor) noexcept {
  return tensor.encoding == encoding_name(DType::f64);
}

std::span<const double> F64Reader::read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                        const Piece& piece) {
  const std::span<std::byte> bytes = bytes_.take(piece.elements() * sizeof(double));
  tensors_.read(checkpoint, tensor, 0, piece.first_element * sizeof(double), bytes);
  const std::span<double> values = values_.take(piece.elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t byte = sizeof(double); byte-- > 0;)
      bits = bits << 8 | std::to_integer<std::uint64_t>(bytes[i * sizeof(double) + byte]);
    values[i] = std::bit_cast<double>(bits);
  }
  return values;
}

}  // namespace synps
