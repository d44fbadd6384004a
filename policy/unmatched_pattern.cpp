#include "synps/unmatched_pattern.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "path_segments.h"
#include "synps/codec_registry.h"
#include "synps/error.h"
#include "toml_text.h"

namespace synps {
namespace {

using Paths = std::vector<std::string_view>;

Paths covered(const std::string& pattern, const Paths& paths) {
  Paths result;
  try {
    const PathPattern parsed = PathPattern::parse(pattern);
    std::copy_if(paths.begin(), paths.end(), std::back_inserter(result),
                 [&](std::string_view path) { return parsed.covers(path); });
  } catch (const Error&) {
    // A correction that is no pattern covers nothing.
  }
  return result;
}

std::string append(const std::string& pattern, std::string_view segment) {
  return pattern.empty() ? std::string(segment) : fmt::format("{}.{}", pattern, segment);
}

// The segments that the paths have at `depth`, each once.
std::vector<std::string> segments_at(const Paths& paths, std::size_t depth) {
  std::vector<std::string> names;
  for (const std::string_view path : paths) {
    const std::vector<std::string_view> segments = split_path(path);
    if (depth < segments.size()) names.emplace_back(segments[depth]);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Follows a pattern segment by segment, and where no path goes on, takes the nearest spelling that
// some path has there.
struct Correction {
  std::string pattern;
  Paths paths;        // that `pattern` covers
  bool found = true;  // it stands for the whole pattern
};

Correction correct(std::string_view pattern, const Paths& paths) {
  Correction so_far{"", paths, true};
  bool any_depth = false;
  const std::vector<std::string_view> segments = split_pattern(pattern);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    any_depth = any_depth || segments[i] == "**";
    std::string longer = append(so_far.pattern, segments[i]);
    Paths rest = covered(longer, so_far.paths);
    if (rest.empty() && !any_depth) {
      const auto near = nearest(segments[i], segments_at(so_far.paths, i));
      if (near) {
        longer = append(so_far.pattern, PathPattern::literal(*near));
        rest = covered(longer, so_far.paths);
      }
    }
    if (rest.empty()) {
      so_far.found = false;
      return so_far;
    }
    so_far.pattern = std::move(longer);
    so_far.paths = std::move(rest);
  }
  return so_far;
}

bool any_depth_only(std::string_view pattern) {
  const std::vector<std::string_view> segments = split_pattern(pattern);
  return !pattern.empty() && std::all_of(segments.begin(), segments.end(),
                                         [](std::string_view one) { return one == "**"; });
}

}  // namespace

std::string hint_for_unmatched(const PathPattern& pattern, const Paths& paths,
                               std::string_view otherwise) {
  if (paths.empty()) return {};
  const auto suggest = [](const std::string& text, std::string_view example) {
    return fmt::format("did you mean {}? It covers {}", toml_key_for_display(text), quote(example));
  };
  const Correction correction = correct(pattern.text(), paths);
  if (correction.found) return suggest(correction.pattern, correction.paths.front());
  const std::string anywhere = "**." + pattern.text();
  const Paths deeper = covered(anywhere, paths);
  if (!deeper.empty()) return suggest(anywhere, deeper.front());
  // Every path follows a `**`, and none of them is near.
  if (any_depth_only(correction.pattern)) return std::string(otherwise);
  if (correction.pattern.empty()) return fmt::format("paths look like {}", quote(paths.front()));
  return fmt::format("the nearest path is {}", quote(correction.paths.front()));
}

}  // namespace synps
