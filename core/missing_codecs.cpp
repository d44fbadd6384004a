#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "package_table.h"
#include "synps/error.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

struct Missing {
  CodecRef codec;
  std::string path;  // of the first weight
  std::uint64_t weights = 0;
  std::optional<unsigned> known_revision;
};

/// What brings a codec that is not known at all.
std::string remedy(const CodecRef& codec, const CodecRegistry& codecs) {
  const std::vector<const Codec*> all = codecs.all();
  const auto same = std::find_if(all.begin(), all.end(), [&](const Codec* known) {
    return known->info().package == codec.package;
  });
  if (same != all.end())
    return (*same)->info().file.empty()
               ? "use a newer synps"
               : fmt::format("use a newer codec package {}", quote(codec.package));
  if (!is_package_name(codec.package)) return "no codec package can have that name";
  return fmt::format(
      "load the codec package '{0}': --package {0}=PATH on the command line, add_codec_package() "
      "in "
      "a program",
      codec.package);
}

Problem problem_of(const std::string& file, const std::string& name, const Missing& missing,
                   const CodecRegistry& codecs) {
  Problem problem;
  problem.code = ErrorCode::package;
  problem.file = file;
  problem.field = missing.path;
  problem.found = name;
  if (missing.weights > 1) problem.found += fmt::format(" ({} weights)", missing.weights);
  if (!missing.known_revision) {
    problem.what = "a codec is needed that is not known here";
    problem.hint = remedy(missing.codec, codecs);
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

}  // namespace

std::vector<Problem> missing_codecs(const std::string& file, std::span<const StoredWeight> weights,
                                    const CodecRegistry& codecs) {
  std::map<std::string, Missing> by_codec;
  for (const StoredWeight& weight : weights) {
    if (weight.codec.is_keep() || stored_codec(codecs, weight) != nullptr) continue;
    Missing& missing =
        by_codec[fmt::format("{} revision {}", weight.codec.id(), weight.codec.revision)];
    if (missing.weights++ > 0) continue;
    missing.codec = weight.codec;
    missing.path = weight.weight.path;
    const Codec* other = codecs.find(weight.codec.package, weight.codec.name);
    if (other != nullptr) missing.known_revision = other->info().revision;
  }
  std::vector<Problem> problems;
  for (const auto& [name, missing] : by_codec)
    problems.push_back(problem_of(file, name, missing, codecs));
  return problems;
}

}  // namespace synps
