#include "os_calls.h"

#include <fmt/format.h>

#include <utility>

#include "synps/file.h"

namespace synps {
namespace {

std::string hint_for(int error) {
  switch (-error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space, or write to another disk";
    case EFBIG:
      return "raise the file size limit, or write to another file system";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case EACCES:
    case EPERM:
      return "check the permissions";
    default:
      return {};
  }
}

}  // namespace

Error io_error(const std::string& path, std::string what, int error) {
  return Error({.code = ErrorCode::io,
                .file = path,
                .what = std::move(what),
                .found = errno_text(error),
                .hint = hint_for(error)});
}

void read_fully(Os& os, int descriptor, const std::string& path, std::uint64_t offset,
                std::span<std::byte> out) {
  while (!out.empty()) {
    const std::int64_t count =
        retry([&] { return os.pread(descriptor, out.data(), out.size(), offset); });
    if (count < 0)
      throw io_error(path, fmt::format("cannot read {} bytes at offset {}", out.size(), offset),
                     static_cast<int>(count));
    if (count == 0)
      throw Error({.code = ErrorCode::io,
                   .file = path,
                   .what = "the file ends too early",
                   .offset = offset,
                   .found = "the end of the file",
                   .want = fmt::format("{} more bytes", out.size()),
                   .hint = "it shrank since it was opened; run again when nothing writes to it"});
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

void write_fully(Os& os, int descriptor, const std::string& path, std::uint64_t offset,
                 std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t count =
        retry([&] { return os.pwrite(descriptor, bytes.data(), bytes.size(), offset); });
    if (count <= 0)
      throw io_error(path, fmt::format("cannot write {} bytes at offset {}", bytes.size(), offset),
                     count == 0 ? -EIO : static_cast<int>(count));
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace synps
