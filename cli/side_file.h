#pragma once

#include <string>
#include <vector>

#include "synps/os.h"

namespace synps::cli {

/// A file that an option names, which is written beside a command's outputs.
struct SideFile {
  std::string path{};                  ///< "" for none
  bool force = false;                  ///< an existing file may be replaced
  std::vector<FileIdentity> inputs{};  ///< which it must not replace
  std::vector<std::string> outputs{};  ///< files that are written beside it
};

/// Whether the file can be written; nothing without a path. `clash` says what is wrong where it is
/// one of the outputs. Throws Error(output) when it cannot; Error(io).
void check_side_file(const SideFile& file, const char* clash);

}  // namespace synps::cli
