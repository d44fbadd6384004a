#include "synps/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "os_calls.h"

namespace synps {
namespace {

std::string kind_text(FileStatus::Kind kind) {
  using Kind = FileStatus::Kind;
  switch (kind) {
    case Kind::regular:
      return "a regular file";
    case Kind::directory:
      return "a directory";
    case Kind::symlink:
      return "a symbolic link";
    case Kind::fifo:
      return "a FIFO";
    case Kind::device:
      return "a device";
    case Kind::socket:
      return "a socket";
    case Kind::other:
      break;
  }
  return "a special file";
}

void require_regular(const FileStatus& status, const std::string& path, ErrorCode code) {
  if (status.kind == FileStatus::Kind::regular) return;
  throw Error({.code = code,
               .file = path,
               .what = "not a file that can be read at any place",
               .found = kind_text(status.kind),
               .want = "a regular file"});
}

}  // namespace

std::string errno_text(int error) {
  return std::generic_category().message(error < 0 ? -error : error);
}

InputFile::InputFile(Os& os, std::string path, ErrorCode kind_error)
    : os_(&os), path_(std::move(path)) {
  // Looked at before it is opened: opening a device can have effects of its own.
  FileStatus before;
  if (const int error = os.status(path_, true, before); error < 0)
    throw io_error(path_, "cannot open the file", error);
  require_regular(before, path_, kind_error);
  descriptor_ = retry([&] { return os.open(path_, Os::Open::read); });
  if (descriptor_ < 0) throw io_error(path_, "cannot open the file", descriptor_);
  try {
    if (const int error = os.status(descriptor_, status_); error < 0)
      throw io_error(path_, "cannot look at the file", error);
    require_regular(status_, path_, kind_error);
  } catch (...) {
    os.close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) os_->close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : os_(other.os_),
      path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      status_(other.status_) {}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  read_fully(*os_, descriptor_, path_, offset, out);
}

std::vector<std::byte> InputFile::read_all() const {
  std::vector<std::byte> bytes(size());
  read(0, bytes);
  return bytes;
}

void InputFile::check_unchanged() const {
  FileStatus now;
  if (const int error = os_->status(descriptor_, now); error < 0)
    throw io_error(path_, "cannot look at the file", error);
  if (now.size == status_.size && now.modified_ns == status_.modified_ns) return;
  throw Error({.code = ErrorCode::checkpoint,
               .file = path_,
               .what = "the file changed while it was being read",
               .found = fmt::format("{} bytes, changed since it was opened", now.size),
               .want = fmt::format("{} bytes, untouched", status_.size),
               .hint = "run again when nothing writes to it"});
}

Mapping::Mapping(const InputFile& file) : os_(&file.os()) {
  if (file.size() == 0) return;
  const std::byte* address = nullptr;
  if (const int error = os_->map(file.descriptor(), file.size(), &address); error < 0)
    throw io_error(file.path(), "cannot map the file", error);
  bytes_ = {address, file.size()};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) os_->unmap(bytes_.data(), bytes_.size());
}

Mapping::Mapping(Mapping&& other) noexcept
    : os_(other.os_), bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(os_, other.os_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace synps
