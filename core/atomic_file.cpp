#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os_calls.h"
#include "synps/file.h"
#include "synps/hash.h"

namespace synps {
namespace {

constexpr std::size_t kLongestKeptName = 200;  // bytes; file systems allow 255
constexpr int kLockAttempts = 100;

/// Bytes after which the disk is told to begin: few calls, and little left for the end.
constexpr std::uint64_t kStartSyncBytes = 32u << 20;

struct SplitPath {
  std::string directory;  // with its slash; empty for the working folder
  std::string name;
};

SplitPath split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

std::string directory_of(const std::string& path) {
  std::string directory = split(path).directory;
  return directory.empty() ? "." : directory;
}

/// Fixed for a given output, so that the next run finds what a killed one left.
std::string temporary_name(const std::string& path) {
  const auto [directory, name] = split(path);
  if (name.size() <= kLongestKeptName) return directory + "." + name + ".synps-tmp";
  const auto bytes = std::as_bytes(std::span(name.data(), name.size()));
  return directory + "." + to_hex(xxh3_128(bytes)) + ".synps-tmp";
}

Error output_error(const std::string& path, std::string what, std::string hint) {
  return Error(
      {.code = ErrorCode::output, .file = path, .what = std::move(what), .hint = std::move(hint)});
}

bool is_input(const FileIdentity& identity, const AtomicFile::Options& options) {
  return std::find(options.inputs.begin(), options.inputs.end(), identity) != options.inputs.end();
}

void refuse_input(const std::string& path, const FileIdentity& identity,
                  const AtomicFile::Options& options) {
  if (is_input(identity, options))
    throw output_error(path, "the output is one of the inputs, which are never overwritten",
                       "choose another name");
}

/// What copy_file_range(2) says when it is the wrong call for these files.
bool cannot_share(std::int64_t error) noexcept {
  return error == -EXDEV || error == -ENOSYS || error == -EOPNOTSUPP || error == -EINVAL ||
         error == -EPERM || error == -ETXTBSY || error == -EOVERFLOW;
}

void check_directory(Os& os, const std::string& path) {
  FileStatus status;
  const std::string directory = directory_of(path);
  if (const int error = os.status(directory, true, status); error < 0)
    throw io_error(path, "cannot write into folder " + quote(directory), error);
  if (status.kind != FileStatus::Kind::directory)
    throw io_error(path, "cannot write into " + quote(directory), -ENOTDIR);
}

}  // namespace

void AtomicFile::check(Os& os, const std::string& path, const Options& options) {
  if (path.empty() || split(path).name.empty())
    throw output_error(path, "the output is not a file name", "name a file, not a folder");
  check_directory(os, path);
  FileStatus status;
  const int error = os.status(path, false, status);
  if (error == -ENOENT) return;
  if (error < 0) throw io_error(path, "cannot look at the output", error);
  switch (status.kind) {
    case FileStatus::Kind::regular:
      refuse_input(path, status.identity, options);
      break;
    case FileStatus::Kind::directory:
      throw output_error(path, "the output is a folder", "name a file in it");
    case FileStatus::Kind::symlink:
      if (FileStatus target; os.status(path, true, target) == 0)
        refuse_input(path, target.identity, options);
      throw output_error(path, "the output is a symbolic link", "name the file it points to");
    default:
      throw output_error(path, "the output is a FIFO, a device or a socket", "name a regular file");
  }
  if (!options.replace)
    throw output_error(path, "the output exists", "use --force to replace it, or another name");
}

AtomicFile::AtomicFile(Os& os, std::string path, Options options)
    : os_(&os),
      path_(std::move(path)),
      temporary_(temporary_name(path_)),
      options_(std::move(options)) {
  check(os, path_, options_);
  try {
    const std::string directory = directory_of(path_);
    folder_ = retry([&] { return os.open(directory, Os::Open::directory); });
    if (folder_ < 0) throw io_error(path_, "cannot open folder " + quote(directory), folder_);
    open_temporary();
    shared_block_bytes_ = os.shared_block_bytes(descriptor_);
  } catch (...) {
    discard();
    throw;
  }
}

AtomicFile::~AtomicFile() {
  discard();
}

/// Makes and locks the temporary. One that a killed run left is removed first, so that mode and
/// owner are this run's. When the name meanwhile went to another file (the holder of the lock
/// finished between our open and our lock), tries again.
void AtomicFile::open_temporary() {
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    lock_ = retry([&] { return os_->open(temporary_, Os::Open::create); });
    const bool created = lock_ >= 0;
    if (lock_ == -EEXIST) lock_ = retry([&] { return os_->open(temporary_, Os::Open::write); });
    if (lock_ == -ENOENT) continue;
    if (lock_ == -ELOOP) throw name_is_taken();
    if (lock_ < 0) throw io_error(temporary_, "cannot create the temporary file", lock_);
    if (!lock_temporary(created)) continue;
    if (created) {
      descriptor_ = retry([&] { return os_->open(temporary_, Os::Open::write); });
      if (descriptor_ >= 0) return;
      throw io_error(temporary_, "cannot open the temporary file", descriptor_);
    }
    if (const int error = os_->unlink(temporary_); error < 0)
      throw give_up(false, io_error(temporary_, "cannot remove what an earlier run left", error));
    os_->close(std::exchange(lock_, -1));
  }
  throw output_error(path_, "other processes keep writing this output", "wait for them");
}

/// Whether the file behind lock_ is locked and still has the temporary's name.
bool AtomicFile::lock_temporary(bool created) {
  FileStatus mine;
  if (const int error = os_->status(lock_, mine); error < 0)
    throw give_up(created, io_error(temporary_, "cannot look at the temporary file", error));
  if (mine.kind != FileStatus::Kind::regular || is_input(mine.identity, options_))
    throw give_up(false, name_is_taken());
  const int locked = retry([&] { return os_->lock(lock_); });
  if (locked == -EWOULDBLOCK)
    throw give_up(false, output_error(path_, "another process is writing this output",
                                      "wait for it, or choose another name"));
  if (locked < 0)
    throw give_up(created, io_error(temporary_, "cannot lock the temporary file", locked));
  FileStatus named;
  if (os_->status(temporary_, false, named) == 0 && named.identity == mine.identity) return true;
  os_->close(std::exchange(lock_, -1));
  return false;
}

Error AtomicFile::name_is_taken() const {
  return output_error(path_, "the name of the temporary file is taken",
                      "remove " + quote(temporary_));
}

/// Lets go of the temporary, and removes it when this run made it.
Error AtomicFile::give_up(bool created, Error error) {
  if (created) os_->unlink(temporary_);
  os_->close(std::exchange(lock_, -1));
  return error;
}

void AtomicFile::discard() noexcept {
  close_folder();
  if (descriptor_ >= 0) os_->close(std::exchange(descriptor_, -1));
  if (lock_ < 0) return;
  os_->unlink(temporary_);
  os_->close(std::exchange(lock_, -1));
}

void AtomicFile::allocate(std::uint64_t size) {
  if (const int error = retry([&] { return os_->allocate(descriptor_, size); }); error < 0)
    throw io_error(path_, fmt::format("cannot reserve {} bytes", size), error);
}

void AtomicFile::truncate(std::uint64_t size) {
  if (const int error = retry([&] { return os_->truncate(descriptor_, size); }); error < 0)
    throw io_error(path_, fmt::format("cannot cut the file to {} bytes", size), error);
}

void AtomicFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  write_fully(*os_, descriptor_, path_, offset, bytes);
  // The disk works while the workers do. What goes wrong there, sync() tells.
  const std::uint64_t before = unsynced_.fetch_add(bytes.size(), std::memory_order_relaxed);
  if (before < kStartSyncBytes && before + bytes.size() >= kStartSyncBytes) {
    unsynced_.store(0, std::memory_order_relaxed);
    os_->start_sync(descriptor_);
  }
}

void AtomicFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  read_fully(*os_, descriptor_, path_, offset, out);
}

std::uint64_t AtomicFile::share(std::uint64_t offset, const InputFile& from,
                                std::uint64_t from_offset, std::uint64_t size) {
  for (std::uint64_t done = 0; done < size;) {
    const std::int64_t count = retry([&] {
      return os_->copy_range(from.descriptor(), from_offset + done, descriptor_, offset + done,
                             static_cast<std::size_t>(size - done));
    });
    // 0: the source ends, which reading it will tell, or a file system that only seems to copy.
    if (count == 0 || cannot_share(count)) {
      shares_.store(false, std::memory_order_relaxed);
      return done;
    }
    if (count < 0)
      throw io_error(path_,
                     fmt::format("cannot copy {} bytes of {} to offset {}", size - done,
                                 quote(from.path()), offset + done),
                     static_cast<int>(count));
    done += static_cast<std::uint64_t>(count);
  }
  return size;
}

void AtomicFile::seal() {
  if (descriptor_ < 0) return;
  if (const int error = retry([&] { return os_->sync(descriptor_); }); error < 0)
    throw io_error(path_, "cannot write the file to disk", error);
  // A close that fails may be the first to tell of a lost write. It is never called twice.
  if (const int error = os_->close(std::exchange(descriptor_, -1)); error < 0 && error != -EINTR)
    throw io_error(path_, "cannot finish writing the file", error);
}

int AtomicFile::sync_folder() {
  const int synced = retry([&] { return os_->sync(folder_); });
  return synced == -EINVAL ? 0 : synced;  // some file systems cannot sync a folder
}

void AtomicFile::close_folder() noexcept {
  if (folder_ >= 0) os_->close(std::exchange(folder_, -1));
}

/// Lets go of a file that has its name.
void AtomicFile::release() noexcept {
  if (lock_ >= 0) os_->close(std::exchange(lock_, -1));
}

void AtomicFile::commit() {
  seal();
  publish();
  const int synced = sync_folder();
  release();
  if (synced < 0)
    throw io_error(path_, "the file is complete, but its name may not survive a power loss",
                   synced);
}

/// Looks at the target once more, for what happened since the start, and renames.
void AtomicFile::publish() {
  check(*os_, path_, options_);
  const int error = retry([&] { return os_->rename(temporary_, path_, options_.replace); });
  if (error == -EEXIST)
    throw output_error(path_, "the output appeared while it was being made",
                       "use --force to replace it, or another name");
  if (error < 0) throw io_error(path_, "cannot give the file its name", error);
}

/// Takes the name away again, if the file has it. Returns whether it has it no more.
bool AtomicFile::unpublish() noexcept {
  FileStatus mine;
  FileStatus named;
  if (os_->status(lock_, mine) < 0) return false;
  const int error = os_->status(path_, false, named);
  if (error < 0) return error == -ENOENT;
  return !(named.identity == mine.identity) || os_->unlink(path_) == 0;
}

std::string AtomicFile::temporary_of(const std::string& path) {
  return temporary_name(path);
}

void AtomicFile::reclaim(Os& os, const std::string& path) noexcept {
  try {
    const std::string temporary = temporary_name(path);
    const int file = retry([&] { return os.open(temporary, Os::Open::write); });
    if (file < 0) return;
    FileStatus mine;
    FileStatus named;
    const bool left = os.status(file, mine) == 0 && mine.kind == FileStatus::Kind::regular &&
                      retry([&] { return os.lock(file); }) == 0 &&
                      os.status(temporary, false, named) == 0 && named.identity == mine.identity;
    if (left) os.unlink(temporary);
    os.close(file);
  } catch (...) {  // no memory for a name
  }
}

}  // namespace synps
