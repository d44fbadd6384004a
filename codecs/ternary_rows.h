#pragma once

#include <cstddef>
#include <span>

#include "code_path.h"
#include "simd/kernels.h"
#include "simd/streaming.h"
#include "ternary_codes.h"

namespace synps {

/// unpack_row() by kernels as far as the path and the machine allow, for rows that follow each
/// other in an output of `total_bytes`.
class RowUnpacker {
 public:
  RowUnpacker(CodePath path, std::size_t total_bytes) noexcept
      : path_(path), streaming_(total_bytes) {}

  void unpack(const std::byte* in, float scale, std::span<float> out) {
    const std::size_t groups = out.size() / kGroupElements;
    const auto run = [&](std::size_t first, std::size_t count, std::byte* to) {
      auto* values = reinterpret_cast<float*>(to);
      const std::byte* from = in + first * kGroupBytes;
      const std::size_t done =
          path_ == CodePath::fast ? simd::decode_groups(from, count, scale, values) : 0;
      unpack_row(from + done * kGroupBytes, scale,
                 {values + done * kGroupElements, (count - done) * kGroupElements});
    };
    streaming_.fill(groups, std::as_writable_bytes(out).data(), kGroupElements * sizeof(float),
                    run);
    unpack_row(in + groups * kGroupBytes, scale, out.subspan(groups * kGroupElements));
  }

 private:
  CodePath path_;
  simd::StreamingOutput streaming_;
};

}  // namespace synps
