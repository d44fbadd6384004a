#include "synps/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace synps {
namespace {

/// The exception of the lowest unit that had one.
class FirstFailure {
 public:
  void record(std::uint64_t unit, std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (!error_ || unit < unit_) {
      unit_ = unit;
      error_ = std::move(error);
    }
    stop_.store(true, std::memory_order_relaxed);
  }
  bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  std::uint64_t unit_ = 0;
  std::exception_ptr error_;
};

}  // namespace

unsigned worker_count(unsigned asked, std::uint64_t units) noexcept {
  const std::uint64_t wanted = asked != 0 ? asked : std::thread::hardware_concurrency();
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(1, units)));
}

void run_parallel(unsigned workers, std::uint64_t units,
                  const std::function<void(unsigned worker, std::uint64_t unit)>& task) {
  std::atomic<std::uint64_t> next = 0;
  FirstFailure failure;
  const auto work = [&](unsigned worker) noexcept {
    while (!failure.stopped()) {
      const std::uint64_t unit = next.fetch_add(1, std::memory_order_relaxed);
      if (unit >= units) return;
      try {
        task(worker, unit);
      } catch (...) {
        failure.record(unit, std::current_exception());
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(workers);
    for (unsigned worker = 1; worker < workers; ++worker) {
      try {
        threads.emplace_back(work, worker);
      } catch (const std::system_error&) {
        break;
      }
    }
    work(0);
  }
  failure.rethrow();
}

}  // namespace synps
