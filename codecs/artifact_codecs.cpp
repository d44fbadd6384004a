#include "artifact_codecs.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "synps/error.h"

namespace synps {
namespace {

std::string codec_with_revision(const CodecRef& codec) {
  return fmt::format("{} revision {}", escape_for_display(codec.id()), codec.revision);
}

// Codecs that the artifact needs and the registry cannot give, each reported once.
class MissingCodecs {
 public:
  explicit MissingCodecs(const std::string& file) : file_(file) {}

  void add(const StoredWeight& weight, const Codec* nearest_fit) {
    Missing& missing = by_codec_[codec_with_revision(weight.codec)];
    if (missing.weights++ > 0) return;
    missing.codec = weight.codec;
    missing.path = weight.weight.path;
    if (nearest_fit != nullptr) missing.known_revision = nearest_fit->info().revision;
  }

  void throw_if_any() const {
    if (by_codec_.empty()) return;
    std::vector<Problem> problems;
    for (const auto& [name, missing] : by_codec_) problems.push_back(problem(name, missing));
    throw Error(std::move(problems));
  }

 private:
  struct Missing {
    CodecRef codec;
    std::string path;
    std::uint64_t weights = 0;
    std::optional<unsigned> known_revision;
  };

  Problem problem(const std::string& name, const Missing& missing) const {
    Problem problem;
    problem.code = ErrorCode::package;
    problem.file = file_;
    problem.field = missing.path;
    problem.found = name;
    if (missing.weights > 1) problem.found += fmt::format(" ({} weights)", missing.weights);
    if (!missing.known_revision) {
      problem.what = "no such codec here";
      problem.hint =
          fmt::format("register the codec package {} before opening", quote(missing.codec.package));
      return problem;
    }
    const bool newer = missing.codec.revision > *missing.known_revision;
    problem.what = newer ? "the codec here is older than the artifact"
                         : "the codec here no longer decodes this revision";
    problem.want = fmt::format("revision {}", *missing.known_revision);
    problem.hint = fmt::format("use {} codec package {}", newer ? "a newer" : "an older",
                               quote(missing.codec.package));
    return problem;
  }

  const std::string& file_;
  std::map<std::string, Missing> by_codec_;
};

Error component_error(const std::string& file, const StoredWeight& weight, std::string found,
                      std::string want) {
  return Error({.code = ErrorCode::artifact,
                .file = file,
                .what = fmt::format("components are not what {} stores for this shape",
                                    escape_for_display(weight.codec.id())),
                .field = weight.weight.path,
                .found = std::move(found),
                .want = std::move(want)});
}

std::string describe(const Component& component) {
  return fmt::format("{} {}{}", escape_for_display(component.name), dtype_name(component.dtype),
                     component.shape.to_string());
}

// What must be stored for the weight: the codec says, and `keep` stores the tensor itself.
std::vector<Component> expected_components(const StoredWeight& weight, const Codec* codec) {
  const Weight& logical = weight.weight;
  if (!weight.codec.is_keep()) return codec->components(logical);
  const auto bytes = logical.shape.bytes(logical.dtype);
  return {{"values", logical.dtype, logical.shape, bytes.value_or(0), false}};
}

// A codec reads what its components say, so an index that says something else must never reach it.
void check_components(const std::string& file, const StoredWeight& weight, const Codec* codec) {
  if (codec != nullptr) {
    const Support support = codec->supports(weight.weight);
    if (!support.ok)
      throw component_error(file, weight, weight.weight.shape.to_string(), support.reason);
  }
  const std::vector<Component> wanted = expected_components(weight, codec);
  if (wanted.size() != weight.components.size()) {
    throw component_error(file, weight, fmt::format("{} components", weight.components.size()),
                          fmt::format("{}", wanted.size()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Component& want = wanted[i];
    const Component& found = weight.components[i].component;
    if (found.name != want.name || found.dtype != want.dtype || !(found.shape == want.shape) ||
        found.bytes != want.bytes || found.per_weight != want.per_weight)
      throw component_error(file, weight, describe(found), describe(want));
  }
}

}  // namespace

std::vector<const Codec*> codecs_of(const std::string& file,
                                    const std::vector<StoredWeight>& weights,
                                    const CodecRegistry& codecs) {
  std::vector<const Codec*> found(weights.size(), nullptr);
  MissingCodecs missing(file);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const StoredWeight& weight = weights[i];
    if (weight.codec.is_keep()) {
      found[i] = codecs.for_dtype(weight.weight.dtype);
      continue;
    }
    found[i] = codecs.find(weight.codec.package, weight.codec.name);
    if (found[i] == nullptr || found[i]->info().revision != weight.codec.revision)
      missing.add(weight, found[i]);
  }
  missing.throw_if_any();
  for (std::size_t i = 0; i < weights.size(); ++i) check_components(file, weights[i], found[i]);
  return found;
}

}  // namespace synps
