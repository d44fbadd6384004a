#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace synps::cli {

/// A weight to be named by a policy. Weights of one group have equal keys.
struct GroupItem {
  std::string path;
  std::string key;  ///< empty: no policy of its own is wanted
};

/// Weights that one policy names.
struct PathGroup {
  std::string pattern;               ///< as PathPattern::parse takes it
  std::vector<std::size_t> members;  ///< indices into the items, by natural order of the path
  /// Another item lies above or below in the tree of names. Such a weight has a group of its own,
  /// also without a key: a policy above it may say something else.
  bool nested = false;
  std::optional<std::size_t> above{};  ///< the nearest item above, which is nested too
};

/// Divides the items that have a key, and those nested with them, into groups. Of all items a
/// pattern covers exactly its members; only patterns of nested ones cover also what is below them,
/// which has a narrower pattern of its own. Numbers become `*` where that holds of `*`, else they
/// are counted. In natural order of the first members.
std::vector<PathGroup> group_paths(const std::vector<GroupItem>& items);

}  // namespace synps::cli
