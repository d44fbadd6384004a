#include "side_file.h"

#include "synps/error.h"
#include "synps/file.h"

namespace synps::cli {
namespace {

/// The file's name in its folder, links of the folder followed.
std::string resolved(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string real;
  if (Os::posix().real_path(folder, real) < 0) real = folder;
  return real + "/" + path.substr(slash + 1);
}

}  // namespace

void check_side_file(const SideFile& file, const char* clash) {
  if (file.path.empty()) return;
  for (const std::string& output : file.outputs)
    if (resolved(output) == resolved(file.path))
      throw Error({.code = ErrorCode::output,
                   .file = file.path,
                   .what = clash,
                   .hint = "choose another name for it"});
  AtomicFile::check(Os::posix(), file.path, {file.force, file.inputs});
}

}  // namespace synps::cli
