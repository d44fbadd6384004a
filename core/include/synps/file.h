#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "synps/error.h"
#include "synps/os.h"

namespace synps {

/// "no such file or directory" for -ENOENT or ENOENT.
std::string errno_text(int error);

/// A regular file open for reading at any offset, from any number of threads.
class InputFile {
 public:
  /// Throws Error(io) when the file cannot be opened, Error(`kind_error`) when it is not a regular
  /// file (a directory, a FIFO, a device).
  InputFile(Os& os, std::string path, ErrorCode kind_error = ErrorCode::checkpoint);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return status_.size; }
  const FileIdentity& identity() const noexcept { return status_.identity; }

  /// Fills `out` from `offset`. Throws Error(io) on failure, or when the file ends before (it
  /// shrank since it was opened).
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  std::vector<std::byte> read_all() const;

  /// Throws Error(checkpoint) when size or time of change differ from what they were at opening.
  void check_unchanged() const;

  Os& os() const noexcept { return *os_; }
  int descriptor() const noexcept { return descriptor_; }

 private:
  Os* os_;
  std::string path_;
  int descriptor_ = -1;
  FileStatus status_;
};

/// A whole file mapped for reading. The file must not be truncated meanwhile: touching a page past
/// its end raises SIGBUS, which this library does not handle.
class Mapping {
 public:
  Mapping() = default;
  /// Throws Error(io).
  explicit Mapping(const InputFile& file);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  Os* os_ = nullptr;
  std::span<const std::byte> bytes_;
};

/// A file that appears under its final name complete or not at all. Bytes go to `.NAME.synps-tmp`
/// in the same directory, under a lock; commit() syncs, renames and syncs the directory. Without
/// commit() the destructor removes the temporary. One left by a killed process is taken over by
/// the next run.
class AtomicFile {
 public:
  struct Options {
    bool replace = false;                ///< an existing regular file may be replaced
    std::vector<FileIdentity> inputs{};  ///< files that must not be written, by any name
  };

  /// Throws Error(output) when `path` exists and may not be replaced, is an input, is not a
  /// regular file, or another process is writing it; Error(io) when the directory cannot be
  /// written.
  AtomicFile(Os& os, std::string path, Options options);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// The checks of the constructor alone, writing nothing: for a plan.
  static void check(Os& os, const std::string& path, const Options& options);

  const std::string& path() const noexcept { return path_; }
  const std::string& temporary_path() const noexcept { return temporary_; }
  /// Reserves `size` bytes on disk and sets the file's size. Throws Error(io).
  void allocate(std::uint64_t size);
  /// Cuts the file to `size` bytes, which it has. Throws Error(io).
  void truncate(std::uint64_t size);
  /// Thread-safe for ranges that do not overlap. Throws Error(io).
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  /// Bytes of the blocks in which share() copies; 0 where it does not.
  std::uint64_t shared_block_bytes() const noexcept {
    return shares_.load(std::memory_order_relaxed) ? shared_block_bytes_ : 0;
  }
  /// Copies bytes of another file without moving them, where the file systems can: both offsets are
  /// multiples of a block. Returns how many it copied, from the first one on; the others are for
  /// the caller to read and write. Thread-safe like write(). Throws Error(io).
  std::uint64_t share(std::uint64_t offset, const InputFile& from, std::uint64_t from_offset,
                      std::uint64_t size);
  /// Syncs the bytes and lets go of them: nothing is written or read after this. Throws Error(io).
  void seal();
  /// Throws Error(io), or Error(output) when the target appeared meanwhile and may not be
  /// replaced, or became an input.
  void commit();

  /// Removes a temporary that a killed run left for `path`; leaves one that is being written, and
  /// whatever is no temporary. Never throws: what cannot be removed stays.
  static void reclaim(Os& os, const std::string& path) noexcept;
  /// What the temporary of `path` is called.
  static std::string temporary_of(const std::string& path);

 private:
  friend class AtomicFileSet;
  void open_temporary();
  bool lock_temporary(bool created);
  Error name_is_taken() const;
  Error give_up(bool created, Error error);
  void publish();
  bool unpublish() noexcept;
  int sync_folder();
  void close_folder() noexcept;
  void release() noexcept;
  void discard() noexcept;

  Os* os_;
  std::string path_;
  std::string temporary_;
  Options options_;
  int folder_ = -1;      // opened first, so that a folder that cannot be synced is found early
  int lock_ = -1;        // holds the lock until the file has its name
  int descriptor_ = -1;  // for the bytes; closed, and the close checked, before that
  std::atomic<std::uint64_t> unsynced_ = 0;  // bytes written since the disk was told to begin
  std::uint64_t shared_block_bytes_ = 0;
  std::atomic<bool> shares_ = true;  // until the kernel refuses
};

}  // namespace synps
