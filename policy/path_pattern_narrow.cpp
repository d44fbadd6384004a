#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "pattern_meet.h"
#include "pattern_syntax.h"
#include "pattern_text.h"
#include "synps/error.h"
#include "synps/path_pattern.h"

namespace synps {
namespace {

using pattern::SegmentPattern;

/// Cells of an alignment table; a path with more gets its literal pattern.
constexpr std::size_t kMaxCells = std::size_t{1} << 20;

/// How a pattern takes a path, segment by segment.
struct Alignment {
  /// By path segment: the text of the pattern segment that takes it; nothing inside a `**` or below
  /// the match.
  std::vector<std::optional<std::string>> takers;
  /// By gap, before each path segment and after the last: whether further segments could stand
  /// there.
  std::vector<bool> open;
};

class Aligner {
 public:
  Aligner(const PathPattern& contender, const std::vector<std::string_view>& path)
      : segments_(pattern::parse_pattern(contender.text())), path_(path) {
    // A trailing `**` takes what lies below the match anyway.
    while (!segments_.empty() && segments_.back().any_depth) segments_.pop_back();
    fill();
  }

  /// False as well when the two are too long to align.
  bool matches() const { return !reaches_.empty() && reaches(0, 0); }

  /// Each `**` takes as few segments as it can or, if `greedy`, as many.
  Alignment align(bool greedy) const {
    Alignment out{std::vector<std::optional<std::string>>(path_.size()),
                  std::vector<bool>(path_.size() + 1, false)};
    std::size_t i = 0;
    for (std::size_t j = 0; j < segments_.size();) {
      if (!segments_[j].any_depth) {
        out.takers[i++] = segments_[j++].text;
        continue;
      }
      out.open[i] = true;
      const bool may_take = i < path_.size() && reaches(i + 1, j);
      if (may_take && (greedy || !reaches(i, j + 1)))
        ++i;
      else
        ++j;
    }
    for (; i <= path_.size(); ++i) out.open[i] = true;
    return out;
  }

 private:
  bool reaches(std::size_t i, std::size_t j) const {
    return reaches_[i * (segments_.size() + 1) + j];
  }

  /// Whether the pattern from segment j on covers the path from segment i on, for all i and j.
  void fill() {
    const std::size_t columns = segments_.size() + 1;
    if (path_.size() + 1 > kMaxCells / columns) return;
    reaches_.assign((path_.size() + 1) * columns, false);
    for (std::size_t i = 0; i <= path_.size(); ++i) reaches_[i * columns + columns - 1] = true;
    for (std::size_t j = segments_.size(); j-- > 0;) fill_column(j);
  }

  void fill_column(std::size_t j) {
    const std::size_t columns = segments_.size() + 1;
    const SegmentPattern& segment = segments_[j];
    std::optional<PathPattern> glob;
    // Behind an empty segment, since the segment may be empty itself.
    if (!segment.any_depth) glob = PathPattern::parse("." + segment.text);
    for (std::size_t i = path_.size() + 1; i-- > 0;) {
      const bool last = i == path_.size();
      bool reached = false;
      if (segment.any_depth)
        reached = reaches(i, j + 1) || (!last && reaches(i + 1, j));
      else
        reached = !last && reaches(i + 1, j + 1) && glob->covers("." + std::string(path_[i]));
      reaches_[i * columns + j] = reached;
    }
  }

  std::vector<SegmentPattern> segments_;
  const std::vector<std::string_view>& path_;
  std::vector<bool> reaches_;
};

std::string join(const std::vector<std::string>& segments) {
  std::string out;
  for (const std::string& segment : segments) {
    if (&segment != &segments.front()) out += '.';
    out += segment;
  }
  return out.empty() ? PathPattern::literal("") : out;
}

/// The pattern whose every segment lies within what all alignments allow there. `open` keeps `**`
/// wherever all of them leave room for more segments; otherwise it has as many as the path needs.
std::string meet_alignments(const std::vector<Alignment>& alignments,
                            const std::vector<std::string_view>& path, bool open,
                            std::uint64_t& steps) {
  std::vector<std::string> segments;
  std::size_t needed = 0;  // up to the last segment that an alignment takes
  for (std::size_t i = 0; i <= path.size(); ++i) {
    const bool room = std::all_of(alignments.begin(), alignments.end(),
                                  [i](const Alignment& a) { return bool{a.open[i]}; });
    if (open && room && (segments.empty() || segments.back() != "**")) segments.emplace_back("**");
    if (i == path.size()) break;
    std::vector<std::string> takers;
    for (const Alignment& alignment : alignments)
      if (alignment.takers[i]) takers.push_back(*alignment.takers[i]);
    if (!takers.empty()) {
      segments.push_back(pattern::meet_segments(takers, path[i], steps));
      needed = segments.size();
    } else if (!open) {
      segments.emplace_back("*");
    }
  }
  segments.resize(needed);
  return segments.empty() ? "**" : join(segments);
}

/// General ones first; each covers the path and lies within every contender.
std::vector<std::string> candidates(const std::vector<const PathPattern*>& contenders,
                                    const std::vector<std::string_view>& path,
                                    std::uint64_t& steps) {
  std::vector<Alignment> lazy;
  std::vector<Alignment> greedy;
  for (const PathPattern* contender : contenders) {
    const Aligner aligner(*contender, path);
    if (!aligner.matches()) return {};
    lazy.push_back(aligner.align(false));
    greedy.push_back(aligner.align(true));
  }
  return {meet_alignments(lazy, path, true, steps), meet_alignments(greedy, path, true, steps),
          meet_alignments(lazy, path, false, steps), meet_alignments(greedy, path, false, steps)};
}

/// `text` as a pattern, if it is one that decides between the contenders for `path`.
std::optional<PathPattern> decider(const std::string& text,
                                   const std::vector<const PathPattern*>& contenders,
                                   std::string_view path, std::uint64_t& steps) {
  try {
    PathPattern out = PathPattern::parse(text);
    if (!out.covers(path)) return std::nullopt;
    for (const PathPattern* contender : contenders)
      if (out.compare(*contender, steps) != Inclusion::narrower) return std::nullopt;
    return out;
  } catch (const Error&) {  // too long, or too complex to compare: no help to anyone
    return std::nullopt;
  }
}

bool is_broader(const PathPattern& a, const PathPattern& b, std::uint64_t& steps) {
  try {
    return a.compare(b, steps) == Inclusion::broader;
  } catch (const Error&) {
    return false;
  }
}

/// One of each text, in an order that does not depend on the caller's.
std::vector<const PathPattern*> sorted(std::vector<const PathPattern*> contenders) {
  const auto less = [](const PathPattern* a, const PathPattern* b) {
    return a->text() < b->text();
  };
  const auto same = [](const PathPattern* a, const PathPattern* b) {
    return a->text() == b->text();
  };
  std::sort(contenders.begin(), contenders.end(), less);
  contenders.erase(std::unique(contenders.begin(), contenders.end(), same), contenders.end());
  return contenders;
}

}  // namespace

std::string PathPattern::narrower_than_all(const std::vector<const PathPattern*>& contenders,
                                           std::string_view path) {
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  return narrower_than_all(contenders, path, steps);
}

std::string PathPattern::narrower_than_all(const std::vector<const PathPattern*>& contenders,
                                           std::string_view path, std::uint64_t& steps) {
  const std::vector<const PathPattern*> others = sorted(contenders);
  std::optional<PathPattern> best;
  if (!others.empty() && steps > 0) {
    for (const std::string& text : candidates(others, pattern::split_segments(path), steps)) {
      std::optional<PathPattern> found = decider(text, others, path, steps);
      if (found && (!best || is_broader(*found, *best, steps))) best = std::move(found);
    }
  }
  if (!best) best = decider(literal(path), others, path, steps);
  if (!best && steps == 0) {
    // Whatever covers the path covers all that its literal does.
    const std::string own = literal(path);
    const bool taken = std::any_of(others.begin(), others.end(),
                                   [&](const PathPattern* one) { return one->text() == own; });
    return taken ? std::string() : own;
  }
  return best ? best->text() : std::string();
}

}  // namespace synps
