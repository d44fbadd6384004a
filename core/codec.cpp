#include "synps/codec.h"

#include <algorithm>

namespace synps {

bool CodecInfo::stores_exactly(DType dtype) const noexcept {
  return std::find(exact.begin(), exact.end(), dtype) != exact.end();
}

void ValueReport::Finding::add(std::uint64_t index, double value) noexcept {
  merge({1, index, value});
}

void ValueReport::Finding::merge(const Finding& other) noexcept {
  if (other.count == 0) return;
  if (count == 0 || other.first_index < first_index) {
    first_index = other.first_index;
    first_value = other.first_value;
  }
  count += other.count;
}

void ValueReport::merge(const ValueReport& other) noexcept {
  overflow.merge(other.overflow);
  non_finite.merge(other.non_finite);
  underflow.merge(other.underflow);
}

std::unique_ptr<Analysis> Codec::begin_analysis(const Weight& /*weight*/) const {
  return nullptr;
}

bool Codec::stores_native_f32() const noexcept {
  return false;
}

std::unique_ptr<Encoder> Codec::make_encoder() const {
  return nullptr;
}

std::uint64_t Codec::encoder_bytes(std::uint64_t /*columns*/) const noexcept {
  return 0;
}

}  // namespace synps
