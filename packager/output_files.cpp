#include "output_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "synps/artifact_shards.h"
#include "synps/file.h"

namespace synps {
namespace {

constexpr std::string_view kTemporaryStart = ".";
constexpr std::string_view kTemporaryEnd = ".synps-tmp";

std::vector<std::string> names_beside(const std::string& output) {
  std::vector<std::string> names;
  const std::string folder = folder_of(output);
  std::error_code error;
  std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool belongs_to(const std::string& name, const std::string& artifact) {
  return name == artifact || name == shard_index_name(artifact) || is_shard_name(name, artifact);
}

}  // namespace

std::uint64_t most_descriptors() noexcept {
  struct rlimit limits {};
  return getrlimit(RLIMIT_NOFILE, &limits) != 0 ? ~std::uint64_t{0} : limits.rlim_cur;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string file_name_of(const std::string& path) {
  return path.substr(folder_of(path).size());
}

std::vector<std::string> earlier_files(const std::string& output,
                                       const std::vector<std::string>& written) {
  const std::string folder = folder_of(output);
  const std::string artifact = file_name_of(output);
  const std::set<std::string> ours(written.begin(), written.end());
  std::vector<std::string> found;
  for (const std::string& name : names_beside(output)) {
    std::string path = folder + name;
    if (belongs_to(name, artifact) && ours.count(path) == 0) found.push_back(std::move(path));
  }
  return found;
}

void reclaim_temporaries(Os& os, const std::string& output,
                         const std::vector<std::string>& written) {
  const std::string artifact = file_name_of(output);
  const std::set<std::string> ours(written.begin(), written.end());
  for (const std::string& name : names_beside(output)) {
    if (!name.starts_with(kTemporaryStart) || !name.ends_with(kTemporaryEnd)) continue;
    const std::string target = name.substr(
        kTemporaryStart.size(), name.size() - kTemporaryStart.size() - kTemporaryEnd.size());
    const std::string path = folder_of(output) + target;
    if (belongs_to(target, artifact) && ours.count(path) == 0) AtomicFile::reclaim(os, path);
  }
}

}  // namespace synps
