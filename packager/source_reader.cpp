#include "source_reader.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace synps {
namespace {

double load_f64(const std::byte* bytes) noexcept {
  std::uint64_t bits = 0;
  for (int i = 7; i >= 0; --i) bits = bits << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return std::bit_cast<double>(bits);
}

/// Finite f64 values that became infinite in f32, and non-zero ones that became zero. The codec
/// that decodes them has no way to say so.
void report_narrowing(std::span<const std::byte> bytes, std::span<const float> values,
                      std::uint64_t first_element, ValueReport& report) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isinf(values[i]) && values[i] != 0) continue;
    const double source = load_f64(bytes.data() + i * 8);
    if (std::isinf(values[i]) && std::isfinite(source))
      report.overflow.add(first_element + i, source);
    else if (values[i] == 0 && source != 0)
      report.underflow.add(first_element + i, source);
  }
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

}  // namespace synps
