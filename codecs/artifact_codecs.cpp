#include "artifact_codecs.h"

#include <array>
#include <cstddef>
#include <utility>

#include "synps/error.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

/// The codecs of some weights. There are few, and many weights: each is looked up once.
class CodecFinder {
 public:
  explicit CodecFinder(const CodecRegistry& codecs) : codecs_(codecs) {}

  const Codec* find(const StoredWeight& weight) {
    if (weight.codec.is_keep()) return stored_codec(codecs_, weight);
    for (const auto& [codec, found] : known_)
      if (*codec == weight.codec) return found;
    return known_.emplace_back(&weight.codec, stored_codec(codecs_, weight)).second;
  }

 private:
  const CodecRegistry& codecs_;
  std::vector<std::pair<const CodecRef*, const Codec*>> known_;
};

/// Weights whose components are as they must be. Layers repeat, and what is stored for a weight
/// depends on its codec, dtype, shape and order alone: most weights are like one that is known.
/// That holds for our own codecs; what a package answers is asked for each weight.
class SoundWeights {
 public:
  bool has_like(const StoredWeight& weight) const noexcept {
    const StoredWeight* known = known_[place_of(weight)];
    if (known == nullptr || known->codec != weight.codec ||
        known->weight.dtype != weight.weight.dtype || known->weight.shape != weight.weight.shape ||
        known->components.size() != weight.components.size())
      return false;
    for (std::size_t i = 0; i < weight.components.size(); ++i)
      if (known->components[i].component != weight.components[i].component ||
          known->components[i].order != weight.components[i].order)
        return false;
    return true;
  }
  void add(const StoredWeight& weight) noexcept { known_[place_of(weight)] = &weight; }

 private:
  static std::size_t place_of(const StoredWeight& weight) noexcept {
    std::uint64_t hash = weight.codec.name.size();
    for (const std::uint64_t extent : weight.weight.shape.extents())
      hash = (hash ^ extent) * 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
    return static_cast<std::size_t>(hash >> 58);
  }

  std::array<const StoredWeight*, 64> known_{};
};

bool is_own(const Codec* codec) noexcept {
  return codec == nullptr || codec->info().file.empty();
}

}  // namespace

std::vector<const Codec*> codecs_of(const std::string& file,
                                    const std::vector<StoredWeight>& weights,
                                    const CodecRegistry& codecs) {
  const auto refuse_missing = [&] {
    if (auto missing = missing_codecs(file, weights, codecs); !missing.empty())
      throw Error(std::move(missing));
  };
  CodecFinder finder(codecs);
  SoundWeights sound;
  std::vector<const Codec*> found(weights.size(), nullptr);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    found[i] = finder.find(weights[i]);
    if (found[i] == nullptr && !weights[i].codec.is_keep()) refuse_missing();
    if (is_own(found[i]) && sound.has_like(weights[i])) continue;
    if (std::string fault = component_fault(weights[i], found[i]); !fault.empty()) {
      refuse_missing();  // those of later weights: without them nothing can be said of the artifact
      throw Error({.code = ErrorCode::artifact,
                   .file = file,
                   .what = std::move(fault),
                   .field = weights[i].weight.path,
                   .hint = "the file is damaged; make or copy it again"});
    }
    if (is_own(found[i])) sound.add(weights[i]);
  }
  return found;
}

}  // namespace synps
