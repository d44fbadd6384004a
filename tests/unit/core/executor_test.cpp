#include "synps/executor.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace synps::testing {
namespace {

/// Whether every unit was run once.
bool runs_all(Executor& executor, std::uint64_t units) {
  std::vector<std::atomic<int>> runs(units);
  const auto count = [&](std::uint64_t unit) { runs[unit].fetch_add(1); };
  executor.run(units, Task(count));
  for (const std::atomic<int>& run : runs)
    if (run.load() != 1) return false;
  return true;
}

}  // namespace

TEST_CASE("executors run every unit once") {
  SerialExecutor serial;
  CHECK(serial.workers() == 1);
  CHECK(runs_all(serial, 20));
  for (unsigned workers = 1; workers <= 7; ++workers) {
    ThreadPool pool(workers);
    CHECK(pool.workers() == workers);
    for (std::uint64_t units = 0; units < 40; ++units) REQUIRE(runs_all(pool, units));
    for (int again = 0; again < 300; ++again) REQUIRE(runs_all(pool, 64));
  }
}

TEST_CASE("a pool sleeps and wakes") {
  ThreadPool pool(3);
  for (int again = 0; again < 5; ++again) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    CHECK(runs_all(pool, 9));
  }
}

TEST_CASE("a pool that was never used ends") {
  for (int again = 0; again < 50; ++again) ThreadPool pool(4);
}

TEST_CASE("what tasks wrote is there afterwards, with plain writes") {
  ThreadPool pool(4);
  std::vector<std::uint64_t> written(1000);
  for (std::uint64_t round = 1; round <= 50; ++round) {
    const auto write = [&](std::uint64_t unit) { written[unit] += round; };
    pool.run(written.size(), Task(write));
  }
  for (const std::uint64_t value : written) REQUIRE(value == 50 * 51 / 2);
}

TEST_CASE("run() from many threads, and from inside a task") {
  ThreadPool pool(3);
  std::atomic<std::uint64_t> done = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        for (int again = 0; again < 100; ++again) {
          const auto outer = [&](std::uint64_t) {
            const auto inner = [&](std::uint64_t) { done.fetch_add(1); };
            pool.run(3, Task(inner));
          };
          pool.run(5, Task(outer));
        }
      });
  }
  CHECK(done.load() == 4 * 100 * 5 * 3);
}

}  // namespace synps::testing
