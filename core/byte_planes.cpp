#include "byte_planes.h"

namespace synps {
namespace {

// The width is a constant of each instance, so that the compiler can unroll and vectorise.

template <std::size_t kWidth>
void split(const std::byte* in, std::size_t elements, std::byte* out) noexcept {
  for (std::size_t i = 0; i < elements; ++i)
    for (std::size_t p = 0; p < kWidth; ++p) out[p * elements + i] = in[kWidth * i + p];
}

template <std::size_t kWidth>
void join(const std::byte* in, std::size_t elements, std::byte* out) noexcept {
  for (std::size_t i = 0; i < elements; ++i)
    for (std::size_t p = 0; p < kWidth; ++p) out[kWidth * i + p] = in[p * elements + i];
}

}  // namespace

void split_planes(std::span<const std::byte> in, unsigned width,
                  std::span<std::byte> out) noexcept {
  const std::size_t elements = in.size() / width;
  if (width == 2) split<2>(in.data(), elements, out.data());
  if (width == 4) split<4>(in.data(), elements, out.data());
  if (width == 8) split<8>(in.data(), elements, out.data());
}

void join_planes(std::span<const std::byte> in, unsigned width, std::span<std::byte> out) noexcept {
  const std::size_t elements = in.size() / width;
  if (width == 2) join<2>(in.data(), elements, out.data());
  if (width == 4) join<4>(in.data(), elements, out.data());
  if (width == 8) join<8>(in.data(), elements, out.data());
}

}  // namespace synps
