#include "synps/gguf_types.h"

#include <algorithm>
#include <array>

#include "synps/checked.h"

namespace synps {
namespace {

constexpr GgufType plain(std::uint32_t number, std::string_view name, std::uint32_t bytes,
                         DType dtype, std::string_view codec = {}) {
  return {number, name, 1, bytes, codec, dtype, false};
}
constexpr GgufType blocks(std::uint32_t number, std::string_view name, std::uint32_t elements,
                          std::uint32_t bytes, std::string_view codec = {}) {
  return {number, name, elements, bytes, codec, std::nullopt, false};
}
constexpr GgufType removed(std::uint32_t number, std::string_view name) {
  return {number, name, 0, 0, {}, std::nullopt, true};
}

// Numbers: `ggml_type` of the GGUF specification (docs/gguf.md of ggml), and from 40 on of ggml
// 0.21.0, which is ahead of it. Sizes: the block structures of ggml 0.21.0.
constexpr std::array<GgufType, 43> kTypes{{
    plain(0, "F32", 4, DType::f32, "f32:f32"),
    plain(1, "F16", 2, DType::f16, "f16:f16"),
    blocks(2, "Q4_0", 32, 18, "q4_0:q4_0"),
    blocks(3, "Q4_1", 32, 20, "q4_1:q4_1"),
    removed(4, "Q4_2"),
    removed(5, "Q4_3"),
    blocks(6, "Q5_0", 32, 22, "q5_0:q5_0"),
    blocks(7, "Q5_1", 32, 24, "q5_1:q5_1"),
    blocks(8, "Q8_0", 32, 34, "q8_0:q8_0"),
    blocks(9, "Q8_1", 32, 36, "q8_1:q8_1"),
    blocks(10, "Q2_K", 256, 84, "q2_k:q2_k"),
    blocks(11, "Q3_K", 256, 110, "q3_k:q3_k"),
    blocks(12, "Q4_K", 256, 144, "q4_k:q4_k"),
    blocks(13, "Q5_K", 256, 176, "q5_k:q5_k"),
    blocks(14, "Q6_K", 256, 210, "q6_k:q6_k"),
    blocks(15, "Q8_K", 256, 292, "q8_k:q8_k"),
    blocks(16, "IQ2_XXS", 256, 66),
    blocks(17, "IQ2_XS", 256, 74),
    blocks(18, "IQ3_XXS", 256, 98),
    blocks(19, "IQ1_S", 256, 50),
    blocks(20, "IQ4_NL", 32, 18, "iq4_nl:iq4_nl"),
    blocks(21, "IQ3_S", 256, 110),
    blocks(22, "IQ2_S", 256, 82),
    blocks(23, "IQ4_XS", 256, 136, "iq4_xs:iq4_xs"),
    plain(24, "I8", 1, DType::i8),
    plain(25, "I16", 2, DType::i16),
    plain(26, "I32", 4, DType::i32),
    plain(27, "I64", 8, DType::i64),
    plain(28, "F64", 8, DType::f64, "f64:f64"),
    blocks(29, "IQ1_M", 256, 56),
    plain(30, "BF16", 2, DType::bf16, "bf16:bf16"),
    removed(31, "Q4_0_4_4"),
    removed(32, "Q4_0_4_8"),
    removed(33, "Q4_0_8_8"),
    blocks(34, "TQ1_0", 256, 54, "ternary:tq1_0"),
    blocks(35, "TQ2_0", 256, 66, "ternary:tq2_0"),
    removed(36, "IQ4_NL_4_4"),
    removed(37, "IQ4_NL_4_8"),
    removed(38, "IQ4_NL_8_8"),
    blocks(39, "MXFP4", 32, 17, "mxfp4:mxfp4"),
    blocks(40, "NVFP4", 64, 36),
    blocks(41, "Q1_0", 128, 18),
    blocks(42, "Q2_0", 64, 18),
}};

constexpr bool numbered_without_gaps() {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (kTypes[i].number != i) return false;
  return true;
}
static_assert(numbered_without_gaps());

}  // namespace

std::optional<std::uint64_t> GgufType::bytes(std::uint64_t elements) const noexcept {
  if (removed || elements % block_elements != 0) return std::nullopt;
  return checked_mul(elements / block_elements, block_bytes);
}

std::span<const GgufType> all_gguf_types() noexcept {
  return kTypes;
}

const GgufType* find_gguf_type(std::uint32_t number) noexcept {
  return number < kTypes.size() ? &kTypes[number] : nullptr;
}

const GgufType* gguf_type_of_codec(std::string_view codec) noexcept {
  if (codec.empty()) return nullptr;
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const GgufType& t) { return t.codec == codec; });
  return found != kTypes.end() ? &*found : nullptr;
}

}  // namespace synps
