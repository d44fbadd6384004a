#pragma once

#include <string>
#include <vector>

#include "synps/os.h"

namespace synps {

/// The folder of a path, with its slash; empty for the working folder.
/// How many descriptors this process may have open at a time.
std::uint64_t most_descriptors() noexcept;

std::string folder_of(const std::string& path);
/// A path without its folder.
std::string file_name_of(const std::string& path);

/// Files beside `output` that a reader could take for parts of the same artifact: the file of that
/// very name, its shard index, and shards of it, whatever their count; without those that are
/// `written` now (paths). By the bytes of the name. None where the folder cannot be listed.
std::vector<std::string> earlier_files(const std::string& output,
                                       const std::vector<std::string>& written);

/// Removes temporaries that killed runs left for such files. Those of the files that are `written`
/// now are theirs.
void reclaim_temporaries(Os& os, const std::string& output,
                         const std::vector<std::string>& written);

}  // namespace synps
