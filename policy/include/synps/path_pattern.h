#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace synps {

/// How the path sets of two patterns relate. "Covers" includes everything below.
enum class Inclusion { equal, narrower, broader, overlapping, disjoint };

/// A pattern over graph paths (docs/policy.md, "Patterns"): segments separated by dots; `*` exactly
/// one segment, `**` any number of them, none included; inside a segment `*` and `?` glob,
/// `{a,b}` chooses, `{0..3}` counts. A pattern covers the paths it matches and everything below.
///
/// A path is its segments, split at every dot; a segment may be empty (`a..b` has three). Path sets
/// are compared exactly, as regular languages over code points, never by counting segments.
class PathPattern {
 public:
  /// Throws Error(policy), with `what`, `found`, `want`, `hint` and the 1-based column in the
  /// pattern, for text that is no pattern; Error(limit) for one that expands beyond the limits.
  static PathPattern parse(std::string_view text);

  const std::string& text() const noexcept;
  /// Every covered path begins with it.
  std::string_view prefix() const noexcept;
  /// Whether the prefixes alone show that no path is in both.
  bool clearly_apart(const PathPattern& other) const noexcept;
  bool covers(std::string_view path) const;
  /// The same; subtracts the steps taken from `steps`, down to zero at most.
  bool covers(std::string_view path, std::uint64_t& steps) const;
  /// The same; `read` becomes how many bytes of the path, its end counted as one more, decided:
  /// every path that begins with these bytes gets the same answer.
  bool covers(std::string_view path, std::uint64_t& steps, std::size_t& read) const;
  /// How this pattern's path set relates to `other`'s: `narrower` when it lies strictly inside.
  /// Throws Error(limit) when deciding it takes more than a fixed number of steps.
  Inclusion compare(const PathPattern& other) const;
  /// The same, for many comparisons that share one budget: subtracts the steps taken from `steps`
  /// (of some nanoseconds each), to zero when they run out, which is an Error(limit) as well.
  Inclusion compare(const PathPattern& other, std::uint64_t& steps) const;

  /// A pattern, as text that parse() accepts, that covers exactly `path` and what lies below it.
  static std::string literal(std::string_view path);

  /// A pattern that covers `path` and is strictly narrower than every one of `contenders` (which
  /// all cover it): their intersection where the language can write it, else narrower. Contenders
  /// with equal path sets still get a narrower pattern, the literal path, unless that is the
  /// contender itself: then an empty string.
  static std::string narrower_than_all(const std::vector<const PathPattern*>& contenders,
                                       std::string_view path);
  /// The same within `steps`: when they run out, the literal path, unless a contender is spelled
  /// so.
  static std::string narrower_than_all(const std::vector<const PathPattern*>& contenders,
                                       std::string_view path, std::uint64_t& steps);

  /// What the wildcards (`*`, `**`, `?`) of the pattern read in `path`, one by one, and all of what
  /// lies below the match: equal for two paths exactly when they agree on that, and empty for a
  /// path that is not covered. Where a path can be read in several ways, wildcards take as much as
  /// they can, from the left. Subtracts the steps taken from `steps`; with none left the key is
  /// empty.
  std::u32string wildcard_key(std::string_view path, std::uint64_t& steps) const;

  /// A path that all of `inside` (at least one) cover and none of `outside` does, over all paths
  /// there could be; nothing when there is none. Throws Error(limit) when finding out takes more
  /// than a fixed number of steps, or more than `steps`, from which the steps taken are subtracted.
  static std::optional<std::string> find_path(const std::vector<const PathPattern*>& inside,
                                              const std::vector<const PathPattern*>& outside,
                                              std::uint64_t& steps);

  struct Program;  // compiled form, private to policy/

 private:
  std::shared_ptr<const Program> program_;
};

}  // namespace synps
