#include "f64_reader.h"

#include "synps/value_problems.h"

namespace synps {

bool stores_f64(const SourceTensor& tensor) noexcept {
  return tensor.encoding == encoding_name(DType::f64);
}

std::span<const double> F64Reader::read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                        const Piece& piece) {
  const std::span<std::byte> bytes = bytes_.take(piece.elements() * sizeof(double));
  tensors_.read(checkpoint, tensor, 0, piece.first_element * sizeof(double), bytes);
  const std::span<double> values = values_.take(piece.elements());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_f64(bytes.data() + i * sizeof(double));
  return values;
}

}  // namespace synps
