#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "synps/os.h"

namespace synps::testing {

/// The real operating system, but for mappings: memory with the file's bytes, of which a page can
/// be read only once it has been noted that something touched it. What a kernel puts into page
/// tables instead, for neighbours of such a page, too, differs from one kernel to the next. One
/// object at a time.
class TouchedPages : public Os {
 public:
  TouchedPages() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before_);
  }
  ~TouchedPages() override {
    sigaction(SIGSEGV, &before_, nullptr);
    begin_ = end_ = 0;
  }

  static std::uint64_t page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }
  /// Pages that were touched so far.
  static std::uint64_t count() { return count_; }

  int map(int descriptor, std::uint64_t size, const std::byte** address) override {
    void* memory =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -errno;
    auto* bytes = static_cast<std::byte*>(memory);
    for (std::uint64_t done = 0; done < size;) {
      const std::int64_t read = Os::pread(descriptor, bytes + done, size - done, done);
      if (read <= 0) return -EIO;
      done += static_cast<std::uint64_t>(read);
    }
    ::mprotect(memory, size, PROT_NONE);
    begin_ = reinterpret_cast<std::uintptr_t>(memory);
    end_ = begin_ + size;
    count_ = 0;
    *address = bytes;
    return 0;
  }

 private:
  static void on_fault(int, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (at < begin_ || at >= end_) {  // not ours: happens again, and ends the program
      ::signal(SIGSEGV, SIG_DFL);
      return;
    }
    const std::uint64_t page = page_bytes();
    ::mprotect(reinterpret_cast<void*>(at / page * page), page, PROT_READ);
    ++count_;
  }

  struct sigaction before_ {};
  static inline std::atomic<std::uintptr_t> begin_{0};
  static inline std::atomic<std::uintptr_t> end_{0};
  static inline std::atomic<std::uint64_t> count_{0};
};

/// The pages that hold any of some bytes.
class Pages {
 public:
  void add(std::span<const std::byte> bytes) {
    const std::uint64_t page = TouchedPages::page_bytes();
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    for (std::uint64_t at = begin / page; at * page < begin + bytes.size(); ++at) pages_.insert(at);
  }
  std::uint64_t count() const { return pages_.size(); }

 private:
  std::set<std::uint64_t> pages_;
};

}  // namespace synps::testing
