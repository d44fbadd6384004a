#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec_registry.h"
#include "synps/policy.h"
#include "weight_roles.h"

namespace synps::cli {

/// What a starter policy is to make of a checkpoint.
struct Preset {
  std::string_view name;
  std::string_view matrices;  ///< format of the big matrices
  std::string_view tables;    ///< of embeddings and the output head
  std::string_view finer;     ///< for whoever wants some of the matrices finer
};

const std::vector<Preset>& presets();
/// The preset of that name, or null.
const Preset* find_preset(std::string_view name) noexcept;

/// What a starter policy does with one weight, and why that is not what the preset says.
struct WeightChoice {
  enum class Reason : std::uint8_t {
    preset,
    small,     ///< kept: norms, biases and the like
    no_codec,  ///< kept: nothing here decodes the source
    packed,    ///< kept: in blocks already, of which a second encoding would lose more
    empty,     ///< kept: no elements
    no_gain,   ///< rows so short that the format takes about as much as 16 bits
    float8,    ///< kept: 8-bit floats, which the format would store in about as many bits, or more
    name,      ///< kept: another tensor has a name that its components would get
    parts,     ///< kept: it means something only with other tensors, and nothing decodes them
  };
  Role role = Role::not_float;
  Reason reason = Reason::preset;
  std::string format = "keep";  ///< codec by its short name, or "keep"
  bool fits = true;             ///< the codec can hold the shape
};

/// A policy of the file.
struct StarterGroup {
  Role role = Role::matrix;
  std::string pattern;
  std::vector<std::size_t> members;  ///< indices of weights
  std::string format;
  std::string fallback;  ///< "" where none is needed
  /// What the preset says, where no member has a shape that fits; else equal to `format`.
  std::string wanted;
};

struct StarterPolicy {
  const Preset* preset = nullptr;
  std::vector<WeightChoice> choices;  ///< by weight
  std::vector<StarterGroup> groups;   ///< by role, then natural order
  std::string root_format = "keep";
  std::string root_fallback;         ///< "" where none is needed
  std::vector<std::size_t> root;     ///< floats that the root decides
  std::vector<std::size_t> unfit;    ///< of them, those whose rows no preset format holds
  std::vector<std::size_t> unnamed;  ///< of them, those that should have had a policy, of which
                                     ///< there would be too many
  std::vector<std::string> source_formats;  ///< encodings to declare
};

/// `codecs` has all that presets name.
StarterPolicy make_starter_policy(const std::vector<WeightFacts>& weights, const Preset& preset,
                                  const CodecRegistry& codecs);

/// Bytes of a weight as `format` stores it; as the source stores it for "keep" and where the codec
/// cannot hold it.
std::uint64_t stored_bytes(const WeightFacts& facts, const std::string& format,
                           const CodecRegistry& codecs);

/// Bytes in the source.
std::uint64_t source_bytes(const WeightFacts& facts);

}  // namespace synps::cli
