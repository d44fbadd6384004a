// Makes a checkpoint of a given size for the end-to-end benchmark: the weights of a Llama model,
// with values that look like trained ones.
//
//   make_checkpoint DTYPE BYTES FILE     DTYPE: f32, f16 or bf16
//
// The hidden size goes with BYTES, and every row length is a multiple of 256, so that every codec
// can store every weight. As many layers as fit into four fifths of BYTES; the embedding and the
// output take the rest, so that the file is smaller than BYTES by less than two rows, or larger by
// its header.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint_file.h"
#include "synps/dtype.h"
#include "synps/error.h"

namespace synps::bench {
namespace {

struct Sizes {
  std::uint64_t hidden = 0;
  std::uint64_t inner = 0;  ///< of the feed-forward part
  std::uint64_t layers = 0;
  std::uint64_t vocabulary = 0;
};

/// For about `count` values.
Sizes sizes_for(std::uint64_t count) {
  Sizes sizes;
  sizes.hidden = 256;
  while (sizes.hidden < 4096 && 200 * sizes.hidden * sizes.hidden < count) sizes.hidden *= 2;
  sizes.inner = sizes.hidden * 11 / 4 / 256 * 256;
  const std::uint64_t layer =
      4 * sizes.hidden * sizes.hidden + 3 * sizes.hidden * sizes.inner + 2 * sizes.hidden;
  sizes.layers = count * 4 / 5 / layer;
  const std::uint64_t rest = count - sizes.layers * layer;
  sizes.vocabulary = std::max<std::uint64_t>(1, (rest / sizes.hidden - 1) / 2);
  return sizes;
}

std::vector<Weight> weights_of(const Sizes& sizes, DType dtype) {
  const std::uint64_t h = sizes.hidden;
  std::vector<Weight> weights{{"model.embed_tokens.weight", {sizes.vocabulary, h}, dtype},
                              {"lm_head.weight", {sizes.vocabulary, h}, dtype},
                              {"model.norm.weight", {h}, dtype}};
  for (std::uint64_t layer = 0; layer < sizes.layers; ++layer) {
    const std::string base = fmt::format("model.layers.{}.", layer);
    for (const char* name : {"input_layernorm", "post_attention_layernorm"})
      weights.push_back({base + name + ".weight", {h}, dtype});
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      weights.push_back({base + "self_attn." + name + ".weight", {h, h}, dtype});
    for (const char* name : {"gate_proj", "up_proj"})
      weights.push_back({base + "mlp." + name + ".weight", {sizes.inner, h}, dtype});
    weights.push_back({base + "mlp.down_proj.weight", {h, sizes.inner}, dtype});
  }
  return weights;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    if (encoding_name(dtype) == name) return dtype;
  return std::nullopt;
}

constexpr std::uint64_t kLeastBytes = 16 * 1024;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 42;

int make(int argc, char** argv) {
  const auto dtype = argc == 4 ? dtype_of(argv[1]) : std::nullopt;
  std::uint64_t bytes = 0;
  const std::string_view digits = argc == 4 ? argv[2] : "";
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, bytes);
  if (!dtype || error != std::errc() || last != end || bytes < kLeastBytes || bytes > kMostBytes) {
    fmt::print(stderr, "usage: make_checkpoint f32|f16|bf16 BYTES FILE, {} to {} bytes\n",
               kLeastBytes, kMostBytes);
    return static_cast<int>(ErrorCode::usage);
  }
  write_checkpoint(argv[3], weights_of(sizes_for(bytes * 8 / dtype_bits(*dtype)), *dtype));
  return 0;
}

}  // namespace
}  // namespace synps::bench

int main(int argc, char** argv) {
  try {
    return synps::bench::make(argc, argv);
  } catch (const synps::Error& error) {
    fmt::print(stderr, "make_checkpoint: error: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "make_checkpoint: error: {}\n", error.what());
    return 1;
  }
}
