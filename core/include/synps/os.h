#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace synps {

/// Device and inode: two names with the same identity are the same file.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct FileStatus {
  enum class Kind : std::uint8_t { regular, directory, symlink, fifo, device, socket, other };
  Kind kind = Kind::other;
  std::uint64_t size = 0;  ///< bytes
  FileIdentity identity;
  std::int64_t modified_ns = 0;  ///< time of last change, nanoseconds since the epoch
};

/// The operating system calls that synps makes on files, one virtual function each, so that a test
/// can put a fault at any of them. Every function returns 0 (or what it documents) on success and
/// -errno on failure, and may return -EINTR or do less than asked, as the real calls do. Callers
/// use the classes of file.h, which handle that.
class Os {
 public:
  enum class Open : std::uint8_t {
    read,       ///< existing file, never blocking on a FIFO
    write,      ///< existing file, read and write, links not followed
    create,     ///< the same for a file that must not exist yet: made with mode 0666 & ~umask
    directory,  ///< a directory, to sync it
  };

  virtual ~Os() = default;

  /// A descriptor.
  virtual int open(const std::string& path, Open mode);
  virtual int close(int descriptor);
  /// Bytes read, 0 at the end of the file.
  virtual std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset);
  /// Bytes written.
  virtual std::int64_t pwrite(int descriptor, const void* data, std::size_t size,
                              std::uint64_t offset);
  /// Copies inside the kernel. Bytes copied.
  virtual std::int64_t copy_range(int from, std::uint64_t from_offset, int to,
                                  std::uint64_t to_offset, std::size_t size);
  /// Bytes of the blocks that copy_range() can share between files of the descriptor's file system,
  /// or have its server copy, rather than move their bytes; 0 where it can do neither.
  virtual std::uint64_t shared_block_bytes(int descriptor);
  virtual int status(int descriptor, FileStatus& status);
  virtual int status(const std::string& path, bool follow_links, FileStatus& status);
  /// `path` made absolute, with every link followed.
  virtual int real_path(const std::string& path, std::string& resolved);
  /// Reserves blocks for [0, size) and extends the file to it.
  virtual int allocate(int descriptor, std::uint64_t size);
  /// Sets the file's size and gives back the blocks behind it.
  virtual int truncate(int descriptor, std::uint64_t size);
  virtual int sync(int descriptor);
  /// Starts to write to disk what the file has in memory, without waiting for it.
  virtual int start_sync(int descriptor);
  /// An exclusive advisory lock, without waiting: -EWOULDBLOCK when another process holds it.
  virtual int lock(int descriptor);
  /// Replaces `to` atomically, or, without `replace`, fails with -EEXIST when it exists.
  virtual int rename(const std::string& from, const std::string& to, bool replace);
  virtual int unlink(const std::string& path);
  /// Maps [0, size) for reading; `address` receives where.
  virtual int map(int descriptor, std::uint64_t size, const std::byte** address);
  virtual void unmap(const std::byte* address, std::uint64_t size) noexcept;
  /// Gives back the memory of those pages of a mapping that lie wholly in the range. Their bytes
  /// come from the file again when they are next read.
  virtual int discard(const std::byte* address, std::uint64_t size);

  /// The real thing.
  static Os& posix();
};

}  // namespace synps
