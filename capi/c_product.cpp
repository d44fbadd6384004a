#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "c_handle.h"
#include "synps/executor.h"

struct synps_pool {
  explicit synps_pool(unsigned workers) : threads(workers) {}

  synps::ThreadPool threads;
  synps_executor executor{};
};

namespace synps::c {
namespace {

// Threads beyond any machine's: a number that was never set.
constexpr std::uint32_t kMostWorkers = 4096;

void run_in_pool(void* context, std::uint64_t units, void (*task)(void*, std::uint64_t),
                 void* task_context) {
  static_cast<synps_pool*>(context)->threads.run(units, Task(task_context, task));
}

/// The caller's threads. What they do with units is not trusted: no unit that was not asked for is
/// run, none twice, and whether all were is known.
class CallerExecutor final : public Executor {
 public:
  explicit CallerExecutor(const synps_executor& executor) : executor_(executor) {
    if (executor.run == nullptr) refuse("a pointer is null", "executor.run");
    if (executor.workers == 0 || executor.workers > kMostWorkers)
      refuse("an executor cannot have so many workers", "executor.workers",
             std::to_string(executor.workers), "1 to " + std::to_string(kMostWorkers));
    if (executor.reserved != 0)
      refuse("a reserved field is set", "executor.reserved", std::to_string(executor.reserved),
             "0");
  }

  unsigned workers() const noexcept override { return executor_.workers; }

  void run(std::uint64_t units, Task task) override {
    Units state(task, units);
    executor_.run(executor_.context, units, run_unit, &state);
    if (state.calls.load(std::memory_order_relaxed) != units || !state.all_ran()) complete_ = false;
  }

  void check_complete() const {
    if (!complete_)
      refuse("the executor did not run every unit once", "executor.run", "", "",
             "call the task once for each unit below `units`, and wait for all calls");
  }

 private:
  class Units {
   public:
    Units(Task task, std::uint64_t count)
        : count_(count), task_(task), ran_(std::make_unique<std::atomic<bool>[]>(count)) {}

    void run(std::uint64_t unit) {
      calls.fetch_add(1, std::memory_order_relaxed);
      if (unit < count_ && !ran_[unit].exchange(true, std::memory_order_relaxed)) task_(unit);
    }
    bool all_ran() const noexcept {
      return std::all_of(ran_.get(), ran_.get() + count_, [](const std::atomic<bool>& ran) {
        return ran.load(std::memory_order_relaxed);
      });
    }

    std::atomic<std::uint64_t> calls = 0;

   private:
    std::uint64_t count_;
    Task task_;
    std::unique_ptr<std::atomic<bool>[]> ran_;
  };

  static void run_unit(void* context, std::uint64_t unit) {
    static_cast<Units*>(context)->run(unit);
  }

  synps_executor executor_;
  bool complete_ = true;
};

/// Calls `product` with what the caller wants it to run on; null: the calling thread.
template <typename Product>
void run_on(const synps_executor* executor, const Product& product) {
  if (executor == nullptr) return product(nullptr);
  if (executor->run == run_in_pool)
    return product(&given(static_cast<synps_pool*>(executor->context), "executor.context").threads);
  CallerExecutor threads(*executor);
  product(&threads);
  threads.check_complete();
}

}  // namespace
}  // namespace synps::c

int synps_pool_create(uint32_t workers, synps_pool** pool, synps_error** error) {
  return synps::c::guarded(error, [&] {
    synps_pool*& out = synps::c::given(pool, "pool");
    out = nullptr;
    if (workers > synps::c::kMostWorkers)
      synps::c::refuse("a pool cannot have so many workers", "workers", std::to_string(workers),
                       "at most " + std::to_string(synps::c::kMostWorkers));
    auto made = std::make_unique<synps_pool>(workers);
    made->executor.context = made.get();
    made->executor.workers = made->threads.workers();
    made->executor.run = synps::c::run_in_pool;
    out = made.release();
  });
}

void synps_pool_free(synps_pool* pool) {
  delete pool;
}

const synps_executor* synps_pool_executor(const synps_pool* pool) {
  return pool != nullptr ? &pool->executor : nullptr;
}

int synps_matvec(const synps_artifact* artifact, size_t weight, const float* x, size_t x_size,
                 float* y, size_t y_size, const synps_executor* executor, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    synps::c::check_array(x, x_size, "x");
    synps::c::check_array(y, y_size, "y");
    synps::c::run_on(executor, [&](synps::Executor* threads) {
      view.matvec({x, x_size}, {y, y_size}, threads);
    });
  });
}

int synps_matmul(const synps_artifact* artifact, size_t weight, uint64_t vectors, const float* x,
                 size_t x_size, float* y, size_t y_size, const synps_executor* executor,
                 synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    synps::c::check_array(x, x_size, "x");
    synps::c::check_array(y, y_size, "y");
    synps::c::run_on(executor, [&](synps::Executor* threads) {
      view.matmul(vectors, {x, x_size}, {y, y_size}, threads);
    });
  });
}

int synps_matvec_q8(const synps_artifact* artifact, size_t weight, const float* x, size_t x_size,
                    float* y, size_t y_size, const synps_executor* executor, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    synps::c::check_array(x, x_size, "x");
    synps::c::check_array(y, y_size, "y");
    synps::c::run_on(executor, [&](synps::Executor* threads) {
      view.matvec_q8(std::span<const float>(x, x_size), {y, y_size}, threads);
    });
  });
}
