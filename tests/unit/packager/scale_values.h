#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pack_fixture.h"

namespace synps::testing {

/// Adds a companion scale, none of whose numbers is zero, and returns these as its dtype has them.
inline std::vector<float> add_scale(SafetensorsBuilder& builder, std::string_view name, DType dtype,
                                    const std::vector<std::uint64_t>& shape,
                                    std::uint32_t seed = 1) {
  const std::uint64_t count = Shape(shape).elements();
  std::vector<float> values = test_values(static_cast<std::size_t>(count), seed);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(values[i] + 1.5f, static_cast<int>(i % 7) - 9);
  const std::string bytes = dense_bytes_of(dtype, values);
  builder.add(name, dtype, shape, bytes);
  const Weight weight{"values", Shape{count}, dtype};
  const std::span<const std::byte> in[] = {std::as_bytes(std::span(bytes))};
  builtin_registry().for_dtype(dtype)->decode(Piece{&weight, 0, 1, count}, in, values);
  return values;
}

}  // namespace synps::testing
