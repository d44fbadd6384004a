#include "report_colours.h"

#include <cstdint>
#include <utility>

namespace synps::cli {
namespace {

constexpr std::size_t kGrey = 0;
/// Colours but grey: c1 to c12 of report_style.h.
constexpr std::size_t kColours = 12;

constexpr std::pair<std::string_view, std::size_t> kOwnColours[] = {
    {"f16", 1},     {"q4_0", 2},     {"q8_0", 3},     {"bf16", 4},    {"ternary", 5},
    {"q4_k", 6},    {"f32", 7},      {"q6_k", 8},     {"q5_k", 9},    {"ternary:tq2_0", 10},
    {"q3_k", 11},   {"q2_k", 12},    {"q4_1", 11},    {"q5_0", 9},    {"q5_1", 12},
    {"q8_1", 8},    {"mxfp4", 6},    {"iq4_nl", 12},  {"iq4_xs", 10}, {"ternary:tq1_0", 11},
    {"f64", kGrey}, {"bool", kGrey}, {"keep", kGrey}, {"i8", kGrey},  {"i16", kGrey},
    {"i32", kGrey}, {"i64", kGrey},  {"u8", kGrey},   {"u16", kGrey}, {"u32", kGrey},
    {"u64", kGrey}};

/// FNV-1a (Fowler, Noll, Vo), 32 bits: the same everywhere, as std::hash need not be.
std::uint32_t hash_of(std::string_view text) noexcept {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

}  // namespace

std::size_t codec_colour(std::string_view codec) noexcept {
  for (const auto& [name, colour] : kOwnColours)
    if (name == codec) return colour;
  return 1 + hash_of(codec) % kColours;
}

}  // namespace synps::cli
