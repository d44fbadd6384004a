#include "artifact_codecs.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "synps/error.h"
#include "synps/stored_codec.h"

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

}  // namespace

std::vector<const Codec*> codecs_of(const std::string& file,
                                    const std::vector<StoredWeight>& weights,
                                    const CodecRegistry& codecs) {
  std::vector<const Codec*> found(weights.size(), nullptr);
  MissingCodecs missing(file);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const StoredWeight& weight = weights[i];
    found[i] = stored_codec(codecs, weight);
    if (found[i] == nullptr && !weight.codec.is_keep())
      missing.add(weight, codecs.find(weight.codec.package, weight.codec.name));
  }
  missing.throw_if_any();
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (std::string fault = component_fault(weights[i], found[i]); !fault.empty())
      throw Error({.code = ErrorCode::artifact,
                   .file = file,
                   .what = std::move(fault),
                   .field = weights[i].weight.path,
                   .hint = "the file is damaged; make or copy it again"});
  return found;
}

}  // namespace synps
