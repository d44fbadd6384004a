#include "synps/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace synps {
namespace {

FileStatus::Kind kind_of(mode_t mode) noexcept {
  using Kind = FileStatus::Kind;
  if (S_ISREG(mode)) return Kind::regular;
  if (S_ISDIR(mode)) return Kind::directory;
  if (S_ISLNK(mode)) return Kind::symlink;
  if (S_ISFIFO(mode)) return Kind::fifo;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return Kind::device;
  if (S_ISSOCK(mode)) return Kind::socket;
  return Kind::other;
}

FileStatus convert(const struct stat& from) noexcept {
  FileStatus to;
  to.kind = kind_of(from.st_mode);
  to.size = static_cast<std::uint64_t>(from.st_size);
  to.identity = {static_cast<std::uint64_t>(from.st_dev), static_cast<std::uint64_t>(from.st_ino)};
  to.modified_ns = std::int64_t{from.st_mtim.tv_sec} * 1'000'000'000 + from.st_mtim.tv_nsec;
  return to;
}

int flags_of(Os::Open mode) noexcept {
  switch (mode) {
    case Os::Open::read:
      return O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    case Os::Open::write:
      return O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    case Os::Open::create:
      return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    case Os::Open::directory:
      return O_RDONLY | O_CLOEXEC | O_DIRECTORY;
  }
  return O_RDONLY;
}

int result_of(int result) noexcept {
  return result < 0 ? -errno : result;
}

/// Whether files of that file system can share extents, or their server can copy. The numbers are
/// those of statfs(2) and the kernel's linux/magic.h.
bool copies_without_moving(std::uint32_t file_system) noexcept {
  switch (file_system) {
    case 0x9123683E:  // Btrfs
    case 0x58465342:  // XFS
    case 0xCA451A4E:  // bcachefs
    case 0x2FC12FC1:  // ZFS
    case 0x7461636F:  // OCFS2
    case 0x00006969:  // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x00C36400:  // Ceph
      return true;
    default:
      return false;
  }
}

/// For file systems without renameat2(RENAME_NOREPLACE): a hard link fails when the name is taken.
int rename_by_link(const std::string& from, const std::string& to) noexcept {
  if (::link(from.c_str(), to.c_str()) < 0) return -errno;
  // The file has its name. A second name that stays is litter, not a failure.
  ::unlink(from.c_str());
  return 0;
}

}  // namespace

int Os::open(const std::string& path, Open mode) {
  return result_of(::open(path.c_str(), flags_of(mode), 0666));
}

int Os::close(int descriptor) {
  return result_of(::close(descriptor));
}

std::int64_t Os::pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) {
  const ssize_t count = ::pread(descriptor, data, size, static_cast<off_t>(offset));
  return count < 0 ? -errno : count;
}

std::int64_t Os::pwrite(int descriptor, const void* data, std::size_t size, std::uint64_t offset) {
  const ssize_t count = ::pwrite(descriptor, data, size, static_cast<off_t>(offset));
  return count < 0 ? -errno : count;
}

std::int64_t Os::copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                            std::size_t size) {
  auto in = static_cast<off_t>(from_offset);
  auto out = static_cast<off_t>(to_offset);
  const ssize_t count = ::copy_file_range(from, &in, to, &out, size, 0);
  return count < 0 ? -errno : count;
}

std::uint64_t Os::shared_block_bytes(int descriptor) {
  struct statfs raw {};
  if (::fstatfs(descriptor, &raw) < 0) return 0;
  if (!copies_without_moving(static_cast<std::uint32_t>(raw.f_type))) return 0;
  return raw.f_bsize > 0 ? static_cast<std::uint64_t>(raw.f_bsize) : 0;
}

int Os::status(int descriptor, FileStatus& status) {
  struct stat raw {};
  if (::fstat(descriptor, &raw) < 0) return -errno;
  status = convert(raw);
  return 0;
}

int Os::status(const std::string& path, bool follow_links, FileStatus& status) {
  struct stat raw {};
  const int result = follow_links ? ::stat(path.c_str(), &raw) : ::lstat(path.c_str(), &raw);
  if (result < 0) return -errno;
  status = convert(raw);
  return 0;
}

int Os::real_path(const std::string& path, std::string& resolved) {
  char* const found = ::realpath(path.c_str(), nullptr);
  if (found == nullptr) return -errno;
  resolved = found;
  std::free(found);
  return 0;
}

int Os::allocate(int descriptor, std::uint64_t size) {
  if (size != 0 && ::fallocate(descriptor, 0, 0, static_cast<off_t>(size)) < 0) {
    // Not every file system can reserve; a write that finds no space then says so itself.
    if (errno != EOPNOTSUPP && errno != ENOSYS) return -errno;
  }
  return result_of(::ftruncate(descriptor, static_cast<off_t>(size)));
}

int Os::truncate(int descriptor, std::uint64_t size) {
  return result_of(::ftruncate(descriptor, static_cast<off_t>(size)));
}

int Os::sync(int descriptor) {
  return result_of(::fsync(descriptor));
}

int Os::start_sync(int descriptor) {
  return result_of(::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE));
}

int Os::lock(int descriptor) {
  return result_of(::flock(descriptor, LOCK_EX | LOCK_NB));
}

int Os::rename(const std::string& from, const std::string& to, bool replace) {
  if (replace) return result_of(::rename(from.c_str(), to.c_str()));
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  return rename_by_link(from, to);
}

int Os::unlink(const std::string& path) {
  return result_of(::unlink(path.c_str()));
}

int Os::map(int descriptor, std::uint64_t size, const std::byte** address) {
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) return -errno;
  *address = static_cast<const std::byte*>(start);
  return 0;
}

void Os::unmap(const std::byte* address, std::uint64_t size) noexcept {
  ::munmap(const_cast<std::byte*>(address), size);
}

int Os::discard(const std::byte* address, std::uint64_t size) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t before =
      (page - start % page) % page;  // bytes of a page that begins earlier
  if (size < before + page) return 0;
  const std::uint64_t whole = (size - before) / page * page;
  return result_of(::madvise(const_cast<std::byte*>(address) + before, whole, MADV_DONTNEED));
}

Os& Os::posix() {
  static Os os;
  return os;
}

}  // namespace synps
