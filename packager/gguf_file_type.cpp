#include "gguf_file_type.h"

#include <algorithm>
#include <array>

namespace synps {
namespace {

struct Row {
  std::uint32_t file_type;
  std::uint32_t type;  // of the tensors that it speaks of
};

// Numbers: `llama_ftype` of llama.cpp's llama.h, as gguf 0.19.0 has them, too. Types: what its
// quantizer starts from for each of them. Where several stand for one type, the first one is what
// its model loader guesses.
constexpr std::array<Row, 35> kRows{{
    {0, 0},                        // F32
    {1, 1},                        // F16
    {2, 2},                        // Q4_0
    {3, 3},                        // Q4_1
    {7, 8},                        // Q8_0
    {8, 6},                        // Q5_0
    {9, 7},                        // Q5_1
    {10, 10}, {21, 10},            // Q2_K, Q2_K_S
    {12, 11}, {11, 11}, {13, 11},  // Q3_K_M, Q3_K_S, Q3_K_L
    {15, 12}, {14, 12},            // Q4_K_M, Q4_K_S
    {17, 13}, {16, 13},            // Q5_K_M, Q5_K_S
    {18, 14},                      // Q6_K
    {19, 16},                      // IQ2_XXS
    {20, 17},                      // IQ2_XS
    {23, 18},                      // IQ3_XXS
    {24, 19},                      // IQ1_S
    {25, 20},                      // IQ4_NL
    {26, 21}, {22, 21}, {27, 21},  // IQ3_S, IQ3_XS, IQ3_M
    {28, 22}, {29, 22},            // IQ2_S, IQ2_M
    {30, 23},                      // IQ4_XS
    {31, 29},                      // IQ1_M
    {32, 30},                      // BF16
    {36, 34},                      // TQ1_0
    {37, 35},                      // TQ2_0
    {38, 39},                      // MXFP4
    {39, 40},                      // NVFP4
    {40, 41},                      // Q1_0
}};

}  // namespace

std::optional<std::uint32_t> gguf_file_type(const GgufType& type) noexcept {
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const Row& each) { return each.type == type.number; });
  return row == kRows.end() ? std::nullopt : std::optional(row->file_type);
}

bool names_gguf_type(std::uint64_t file_type, const GgufType& type) noexcept {
  return std::any_of(kRows.begin(), kRows.end(), [&](const Row& each) {
    return each.file_type == file_type && each.type == type.number;
  });
}

}  // namespace synps
