#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace synps {

/// A task that is only referred to: what it points at must live while it runs. Called with the
/// number of a unit; must not throw.
class Task {
 public:
  template <typename Function>
  requires(!std::is_same_v<std::remove_cvref_t<Function>, Task>) explicit Task(
      Function& function) noexcept
      : context_(const_cast<void*>(static_cast<const void*>(&function))),
        call_([](void* context, std::uint64_t unit) { (*static_cast<Function*>(context))(unit); }) {
  }
  Task(void* context, void (*call)(void* context, std::uint64_t unit)) noexcept
      : context_(context), call_(call) {}

  void operator()(std::uint64_t unit) const { call_(context_, unit); }

 private:
  void* context_;
  void (*call_)(void* context, std::uint64_t unit);
};

/// What kernels run on: a program supplies its own to share its threads.
class Executor {
 public:
  virtual ~Executor() = default;

  /// How many units run at the same time, at best; at least 1.
  virtual unsigned workers() const noexcept = 0;

  /// Calls `task` for every unit in [0, units), each once, in any sequence and on any threads, and
  /// returns when all calls have. What the calls wrote is then visible to the caller.
  virtual void run(std::uint64_t units, Task task) = 0;
};

/// Runs everything on the calling thread.
class SerialExecutor final : public Executor {
 public:
  unsigned workers() const noexcept override { return 1; }
  void run(std::uint64_t units, Task task) override {
    for (std::uint64_t unit = 0; unit < units; ++unit) task(unit);
  }
};

/// Threads that stay, since starting one takes as long as a small product. They wait for work
/// spinning, for some microseconds, then asleep. run() may be called from any number of threads,
/// also from inside a task: whoever finds the threads at work does its units itself.
class ThreadPool final : public Executor {
 public:
  /// `workers`: threads at work in run(), the caller's among them; 0: one a core. Where the system
  /// refuses a thread there are fewer.
  explicit ThreadPool(unsigned workers = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned workers() const noexcept override;
  void run(std::uint64_t units, Task task) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace synps
