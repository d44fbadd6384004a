#include "policy_merge.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace synps {
namespace {

template <typename Value>
void note_replaced(Value& value, const std::string& text, Value& base) {
  value.replaced.push_back({text, base.place});
  value.replaced.insert(value.replaced.end(), base.replaced.begin(), base.replaced.end());
}

void merge_keys(std::vector<PolicyKey>& keys, std::vector<PolicyKey> base) {
  for (PolicyKey& theirs : base) {
    const auto mine = std::find_if(keys.begin(), keys.end(),
                                   [&](const PolicyKey& key) { return key.name == theirs.name; });
    if (mine != keys.end())
      note_replaced(*mine, theirs.value, theirs);
    else
      keys.push_back(std::move(theirs));
  }
  std::sort(keys.begin(), keys.end(),
            [](const PolicyKey& a, const PolicyKey& b) { return a.name < b.name; });
}

void merge_schemes(std::vector<PolicyScheme>& schemes, std::vector<PolicyScheme> base) {
  const std::size_t own = schemes.size();
  for (PolicyScheme& theirs : base) {
    const auto end = schemes.begin() + static_cast<std::ptrdiff_t>(own);
    bool replaced = false;
    for (auto mine = schemes.begin(); mine != end; ++mine) {
      if (mine->scheme.scope != theirs.scheme.scope ||
          mine->scheme.lifetime != theirs.scheme.lifetime)
        continue;
      note_replaced(*mine, theirs.scheme.format, theirs);
      replaced = true;
    }
    if (!replaced) schemes.push_back(std::move(theirs));
  }
}

void merge_entries(std::vector<PolicyEntry>& entries, std::vector<FileEntry> own) {
  std::unordered_map<std::string, std::size_t> by_pattern;
  for (std::size_t i = 0; i < entries.size(); ++i) by_pattern[entries[i].pattern.text()] = i;
  for (FileEntry& mine : own) {
    const auto found = by_pattern.find(mine.entry.pattern.text());
    if (found == by_pattern.end()) {
      mine.entry.optional = mine.optional.value_or(false);
      entries.push_back(std::move(mine.entry));
      continue;
    }
    PolicyEntry& theirs = entries[found->second];
    mine.entry.optional = mine.optional.value_or(theirs.optional);
    merge_keys(mine.entry.keys, std::move(theirs.keys));
    merge_schemes(mine.entry.schemes, std::move(theirs.schemes));
    theirs = std::move(mine.entry);
  }
}

}  // namespace

void merge_into(PolicyDocument& document, PolicyFile file) {
  merge_entries(document.entries, std::move(file.entries));
  for (PolicyGroup& group : file.groups) {
    const auto theirs =
        std::find_if(document.groups.begin(), document.groups.end(),
                     [&](const PolicyGroup& each) { return each.name == group.name; });
    if (theirs != document.groups.end())
      *theirs = std::move(group);
    else
      document.groups.push_back(std::move(group));
  }
  for (std::size_t i = 0; i < file.source_formats.size(); ++i) {
    const auto& known = document.source_formats;
    const auto at = std::find(known.begin(), known.end(), file.source_formats[i]);
    const auto number = static_cast<std::size_t>(at - known.begin());
    if (at != known.end()) {
      document.source_format_places[number] = file.source_format_places[i];
      continue;
    }
    document.source_formats.push_back(std::move(file.source_formats[i]));
    document.source_format_places.push_back(file.source_format_places[i]);
  }
  for (auto& [name, device] : file.devices) document.devices[name] = std::move(device);
  for (auto& [name, profile] : file.profiles) document.profile_entries[name] = std::move(profile);
}

}  // namespace synps
