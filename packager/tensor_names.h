#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/checkpoint.h"

namespace synps {

/// Finds tensors, sorted by path, by their names.
class TensorNames {
 public:
  explicit TensorNames(const std::vector<SourceTensor>& tensors) : tensors_(tensors) {}

  std::optional<std::size_t> find(std::string_view path) const {
    const auto at = lower_bound(path);
    if (at == tensors_.end() || at->weight.path != path) return std::nullopt;
    return static_cast<std::size_t>(at - tensors_.begin());
  }
  /// The same for `base` + `rest`, where `base` is mostly a module with its dot.
  std::optional<std::size_t> find(std::string_view base, std::string_view rest) const {
    return find(std::string(base).append(rest));
  }
  /// The first whose name begins with `prefix`, and the end of those.
  std::pair<std::size_t, std::size_t> with_prefix(std::string_view prefix) const {
    auto at = lower_bound(prefix);
    const auto begin = static_cast<std::size_t>(at - tensors_.begin());
    while (at != tensors_.end() && std::string_view(at->weight.path).starts_with(prefix)) ++at;
    return {begin, static_cast<std::size_t>(at - tensors_.begin())};
  }

 private:
  std::vector<SourceTensor>::const_iterator lower_bound(std::string_view path) const {
    return std::lower_bound(tensors_.begin(), tensors_.end(), path,
                            [](const SourceTensor& tensor, std::string_view name) {
                              return tensor.weight.path < name;
                            });
  }

  const std::vector<SourceTensor>& tensors_;
};

/// The last part of a path, and what is in front of it, the dot included.
struct NameParts {
  std::string_view module;
  std::string_view leaf;
};
inline NameParts name_parts(std::string_view path) noexcept {
  const std::size_t dot = path.rfind('.');
  const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
  return {path.substr(0, begin), path.substr(begin)};
}

}  // namespace synps
