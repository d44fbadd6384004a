#include "synps/folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "synps/error.h"

namespace synps {

std::vector<std::string> visible_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error)
    throw Error({.code = ErrorCode::io,
                 .file = folder,
                 .what = "cannot list the folder",
                 .found = error.message()});
  std::sort(names.begin(), names.end());
  return names;
}

bool is_plain_file_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

}  // namespace synps
