#include "synps/codec_registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "synps/error.h"

namespace synps {
namespace {

std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {name, name};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

struct ByName {
  using Key = std::pair<std::string_view, std::string_view>;
  static Key key(const Codec& codec) { return {codec.info().package, codec.info().name}; }
  bool operator()(const std::shared_ptr<const Codec>& codec, const Key& wanted) const {
    return key(*codec) < wanted;
  }
};

}  // namespace

void CodecRegistry::add(std::shared_ptr<const Codec> codec) {
  const auto key = ByName::key(*codec);
  const auto at = std::lower_bound(codecs_.begin(), codecs_.end(), key, ByName());
  if (at != codecs_.end() && ByName::key(**at) == key)
    throw Error({.code = ErrorCode::package,
                 .what = "two codecs have the same name",
                 .found = codec->info().id(),
                 .want = "one export of a name in a package",
                 .hint = "load the package under another name"});
  codecs_.insert(at, std::move(codec));
}

const Codec* CodecRegistry::find(std::string_view package, std::string_view name) const noexcept {
  const ByName::Key key{package, name};
  const auto at = std::lower_bound(codecs_.begin(), codecs_.end(), key, ByName());
  return at != codecs_.end() && ByName::key(**at) == key ? at->get() : nullptr;
}

const Codec* CodecRegistry::resolve(std::string_view name) const noexcept {
  const auto [package, exported] = split_name(name);
  return find(package, exported);
}

std::vector<std::string> CodecRegistry::suggestions(std::string_view name,
                                                    std::size_t limit) const {
  const auto [package, exported] = split_name(name);
  std::vector<std::string> related;
  std::vector<std::pair<std::size_t, std::string>> spelled;
  for (const auto& codec : codecs_) {
    const CodecInfo& info = codec->info();
    const std::string written = short_name(info);
    if (info.name == exported || info.package == package) related.push_back(written);
    const std::size_t distance =
        std::min({edit_distance(name, written), edit_distance(exported, info.name)});
    spelled.emplace_back(distance, written);
  }
  if (related.empty()) {
    std::sort(spelled.begin(), spelled.end());
    const std::size_t near = std::max<std::size_t>(2, exported.size() / 3);
    for (auto& [distance, written] : spelled)
      if (distance <= near) related.push_back(std::move(written));
  }
  if (related.size() > limit) related.resize(limit);
  return related;
}

const Codec* CodecRegistry::for_dtype(DType dtype) const noexcept {
  for (const auto& codec : codecs_)
    if (codec->info().dense && codec->info().dense_dtype == dtype) return codec.get();
  return nullptr;
}

std::vector<const Codec*> CodecRegistry::all() const {
  std::vector<const Codec*> list;
  list.reserve(codecs_.size());
  for (const auto& codec : codecs_) list.push_back(codec.get());
  return list;
}

std::string CodecRegistry::short_name(const CodecInfo& info) {
  return info.package == info.name ? info.name : info.id();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows of the usual table.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, current);
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
  }
  return current[b.size()];
}

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t gap = candidate.size() > name.size() ? candidate.size() - name.size()
                                                           : name.size() - candidate.size();
    if (gap >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  return best == nullptr ? std::nullopt : std::optional<std::string>(*best);
}

}  // namespace synps
