#include "artifact_input.h"

#include <utility>

#include "synps/error.h"

namespace synps {

void check_artifact_values(const ArtifactSet& artifact, unsigned workers, Progress& progress) {
  auto problems =
      artifact.check_values([&](std::uint64_t bytes) { progress.advance(bytes); }, workers);
  if (!problems.empty()) throw Error(std::move(problems));
}

void check_artifact_unchanged(const ArtifactSet& artifact) {
  try {
    for (const auto& file : artifact.files()) file->file().check_unchanged();
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      if (problem.code == ErrorCode::checkpoint) problem.code = ErrorCode::artifact;
    throw Error(std::move(problems));
  }
}

}  // namespace synps
