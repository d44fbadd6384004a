#include "synps/executor.h"

#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "synps/parallel.h"

namespace synps {
namespace {

/// How often a waiting thread looks again before it sleeps: some 10 to 50 microseconds, about what
/// waking it would take.
constexpr int kLooks = 2000;

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Whether `done()` became true while looking for a short time.
template <typename Done>
bool spin(Done done) noexcept {
  for (int look = 0; look < kLooks; ++look) {
    if (done()) return true;
    pause();
  }
  return false;
}

}  // namespace

struct ThreadPool::Impl {
  /// One call of run(). It lives on the caller's stack; threads reach it through `job` alone, and
  /// count themselves in and out under the mutex.
  struct Job {
    Task task;
    std::uint64_t units;
    std::atomic<std::uint64_t> next = 0;

    void work() {
      for (;;) {
        const std::uint64_t unit = next.fetch_add(1, std::memory_order_relaxed);
        if (unit >= units) return;
        task(unit);
      }
    }
  };

  std::atomic<bool> busy = false;  ///< somebody runs a job; no mutex, for its owner asks too
  std::mutex mutex;
  std::condition_variable work_came;
  std::condition_variable work_ended;
  std::atomic<std::uint64_t> turn = 0;  ///< counts jobs; written under the mutex
  std::atomic<unsigned> inside = 0;     ///< threads at the job; written under the mutex
  std::atomic<bool> stop = false;
  Job* job = nullptr;  ///< under the mutex
  std::vector<std::jthread> threads;

  /// Also when the pool could not be made in full.
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop.store(true, std::memory_order_release);
    }
    work_came.notify_all();
    threads.clear();  // joins them while what they use is still there
  }

  void serve() {
    std::uint64_t seen = 0;
    for (;;) {
      const auto called = [&] {
        return turn.load(std::memory_order_acquire) != seen || stop.load(std::memory_order_acquire);
      };
      spin(called);
      std::unique_lock lock(mutex);
      work_came.wait(lock, called);
      if (stop.load(std::memory_order_relaxed)) return;
      seen = turn.load(std::memory_order_relaxed);
      Job* const mine = job;
      if (mine == nullptr) continue;  // it has ended already
      inside.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      mine->work();
      lock.lock();
      if (inside.fetch_sub(1, std::memory_order_release) == 1) work_ended.notify_one();
    }
  }

  void begin(Job& begun) {
    {
      const std::lock_guard lock(mutex);
      job = &begun;
      turn.fetch_add(1, std::memory_order_release);
    }
    work_came.notify_all();
  }

  /// Lets no further thread in, and waits for those inside.
  void end() {
    {
      const std::lock_guard lock(mutex);
      job = nullptr;
    }
    const auto left = [&] { return inside.load(std::memory_order_acquire) == 0; };
    spin(left);
    std::unique_lock lock(mutex);
    work_ended.wait(lock, left);
  }
};

ThreadPool::ThreadPool(unsigned workers) : impl_(std::make_unique<Impl>()) {
  const unsigned count = worker_count(workers, std::numeric_limits<std::uint64_t>::max());
  impl_->threads.reserve(count - 1);
  for (unsigned i = 1; i < count; ++i) {
    try {
      impl_->threads.emplace_back([impl = impl_.get()] { impl->serve(); });
    } catch (const std::system_error&) {
      break;
    }
  }
}

ThreadPool::~ThreadPool() = default;

unsigned ThreadPool::workers() const noexcept {
  return static_cast<unsigned>(impl_->threads.size()) + 1;
}

void ThreadPool::run(std::uint64_t units, Task task) {
  Impl::Job job{task, units};
  const bool alone = units < 2 || impl_->threads.empty();
  if (alone || impl_->busy.exchange(true, std::memory_order_acquire)) {
    job.work();
    return;
  }
  impl_->begin(job);
  job.work();
  impl_->end();
  impl_->busy.store(false, std::memory_order_release);
}

}  // namespace synps
