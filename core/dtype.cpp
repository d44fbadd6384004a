#include "synps/dtype.h"

#include <array>
#include <cstddef>

namespace synps {
namespace {

struct Row {
  DType dtype;
  std::string_view name;      // as safetensors writes it
  std::string_view encoding;  // as a policy writes it
  unsigned bits;
  bool is_float;
};

// Names and sizes: the `Dtype` enumeration of the safetensors Rust crate, version 0.7.
constexpr std::array<Row, 22> kRows{{
    {DType::boolean, "BOOL", "bool", 8, false},
    {DType::f4, "F4", "f4", 4, true},
    {DType::f6_e2m3, "F6_E2M3", "f6_e2m3", 6, true},
    {DType::f6_e3m2, "F6_E3M2", "f6_e3m2", 6, true},
    {DType::u8, "U8", "u8", 8, false},
    {DType::i8, "I8", "i8", 8, false},
    {DType::f8_e5m2, "F8_E5M2", "f8_e5m2", 8, true},
    {DType::f8_e4m3, "F8_E4M3", "f8_e4m3", 8, true},
    {DType::f8_e8m0, "F8_E8M0", "f8_e8m0", 8, true},
    {DType::f8_e4m3fnuz, "F8_E4M3FNUZ", "f8_e4m3fnuz", 8, true},
    {DType::f8_e5m2fnuz, "F8_E5M2FNUZ", "f8_e5m2fnuz", 8, true},
    {DType::i16, "I16", "i16", 16, false},
    {DType::u16, "U16", "u16", 16, false},
    {DType::f16, "F16", "f16", 16, true},
    {DType::bf16, "BF16", "bf16", 16, true},
    {DType::i32, "I32", "i32", 32, false},
    {DType::u32, "U32", "u32", 32, false},
    {DType::f32, "F32", "f32", 32, true},
    {DType::c64, "C64", "c64", 64, false},
    {DType::f64, "F64", "f64", 64, true},
    {DType::i64, "I64", "i64", 64, false},
    {DType::u64, "U64", "u64", 64, false},
}};

constexpr bool rows_follow_the_enumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  return true;
}
static_assert(rows_follow_the_enumeration());

constexpr std::array<DType, kRows.size()> list_dtypes() {
  std::array<DType, kRows.size()> all{};
  for (std::size_t i = 0; i < kRows.size(); ++i) all[i] = kRows[i].dtype;
  return all;
}
constexpr std::array<DType, kRows.size()> kAll = list_dtypes();

const Row& row_of(DType dtype) noexcept {
  return kRows[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::span<const DType> all_dtypes() noexcept {
  return kAll;
}

std::string_view dtype_name(DType dtype) noexcept {
  return row_of(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const Row& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

unsigned dtype_bits(DType dtype) noexcept {
  return row_of(dtype).bits;
}

bool dtype_is_float(DType dtype) noexcept {
  return row_of(dtype).is_float;
}

std::string_view encoding_name(DType dtype) noexcept {
  return row_of(dtype).encoding;
}

}  // namespace synps
