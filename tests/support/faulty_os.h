#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "synps/os.h"

namespace synps::testing {

/// The real operating system, with a fault at one call of one kind, or at that and all later ones.
/// Counts calls of every kind. May be used from several threads.
class FaultyOs : public Os {
 public:
  enum class Call : std::size_t {
    open,
    close,
    pread,
    pwrite,
    status,
    allocate,
    sync,
    lock,
    rename,
    unlink,
    map,
    copy_range,
    truncate,
    discard,
  };
  static constexpr std::size_t kCalls = 14;

  static constexpr std::array<Call, kCalls> all_calls() {
    std::array<Call, kCalls> calls{};
    for (std::size_t i = 0; i < kCalls; ++i) calls[i] = static_cast<Call>(i);
    return calls;
  }
  static std::string name(Call call) {
    static constexpr std::array<const char*, kCalls> kNames = {
        "open", "close",  "pread",  "pwrite", "status",     "allocate", "sync",
        "lock", "rename", "unlink", "map",    "copy_range", "truncate", "discard"};
    return kNames[static_cast<std::size_t>(call)];
  }

  /// As `error`: transfers half of what was asked, at least one byte (pread, pwrite, copy_range).
  static constexpr int kShort = 0;

  /// As `error`: transfers nothing (copy_range only).
  static constexpr int kNothing = 1;

  struct Fault {
    Call call = Call::open;
    std::uint64_t at = 0;   ///< 1: the first call of that kind; 0: never
    int error = kShort;     ///< -errno that the call returns, kShort or kNothing
    bool persists = false;  ///< later calls of that kind fail too
  };

  /// What the file system is to share, whatever it can.
  std::optional<std::uint64_t> shared_block{};

  FaultyOs() = default;
  explicit FaultyOs(const Fault& fault) : fault_(fault) {}

  std::uint64_t calls(Call call) const { return counts_[static_cast<std::size_t>(call)].load(); }
  /// Whether the fault has happened.
  bool triggered() const { return fault_.at != 0 && calls(fault_.call) >= fault_.at; }

  int open(const std::string& path, Open mode) override {
    return faulty(Call::open) ? fault_.error : Os::open(path, mode);
  }
  int close(int descriptor) override {
    // As on Linux, the descriptor is gone whatever close says.
    const bool fault = faulty(Call::close);
    const int result = Os::close(descriptor);
    return fault ? fault_.error : result;
  }
  std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) override {
    if (!faulty(Call::pread)) return Os::pread(descriptor, data, size, offset);
    if (fault_.error != kShort) return fault_.error;
    return Os::pread(descriptor, data, half(size), offset);
  }
  std::int64_t pwrite(int descriptor, const void* data, std::size_t size,
                      std::uint64_t offset) override {
    if (!faulty(Call::pwrite)) return Os::pwrite(descriptor, data, size, offset);
    if (fault_.error != kShort) return fault_.error;
    return Os::pwrite(descriptor, data, half(size), offset);
  }
  std::int64_t copy_range(int from, std::uint64_t from_offset, int to, std::uint64_t to_offset,
                          std::size_t size) override {
    if (!faulty(Call::copy_range)) return Os::copy_range(from, from_offset, to, to_offset, size);
    if (fault_.error == kNothing) return 0;
    if (fault_.error != kShort) return fault_.error;
    return Os::copy_range(from, from_offset, to, to_offset, half(size));
  }
  std::uint64_t shared_block_bytes(int descriptor) override {
    return shared_block.value_or(Os::shared_block_bytes(descriptor));
  }
  int status(int descriptor, FileStatus& status) override {
    return faulty(Call::status) ? fault_.error : Os::status(descriptor, status);
  }
  int status(const std::string& path, bool follow_links, FileStatus& status) override {
    return faulty(Call::status) ? fault_.error : Os::status(path, follow_links, status);
  }
  int allocate(int descriptor, std::uint64_t size) override {
    return faulty(Call::allocate) ? fault_.error : Os::allocate(descriptor, size);
  }
  int truncate(int descriptor, std::uint64_t size) override {
    return faulty(Call::truncate) ? fault_.error : Os::truncate(descriptor, size);
  }
  int sync(int descriptor) override {
    return faulty(Call::sync) ? fault_.error : Os::sync(descriptor);
  }
  int lock(int descriptor) override {
    return faulty(Call::lock) ? fault_.error : Os::lock(descriptor);
  }
  int rename(const std::string& from, const std::string& to, bool replace) override {
    return faulty(Call::rename) ? fault_.error : Os::rename(from, to, replace);
  }
  int unlink(const std::string& path) override {
    return faulty(Call::unlink) ? fault_.error : Os::unlink(path);
  }
  int map(int descriptor, std::uint64_t size, const std::byte** address) override {
    return faulty(Call::map) ? fault_.error : Os::map(descriptor, size, address);
  }
  int discard(const std::byte* address, std::uint64_t size) override {
    return faulty(Call::discard) ? fault_.error : Os::discard(address, size);
  }

 private:
  static std::size_t half(std::size_t size) {
    return std::max<std::size_t>(size / 2, std::min<std::size_t>(size, 1));
  }

  bool faulty(Call call) {
    const std::uint64_t number = ++counts_[static_cast<std::size_t>(call)];
    if (call != fault_.call || fault_.at == 0) return false;
    return number == fault_.at || (fault_.persists && number > fault_.at);
  }

  Fault fault_;
  std::array<std::atomic<std::uint64_t>, kCalls> counts_{};
};

}  // namespace synps::testing
