#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>

namespace synps {

/// Lets workers that have taken rising numbers go through a passage in the sequence of the numbers.
class Turns {
 public:
  /// Thrown by wait() when a lower number has failed, whose turn will never be over.
  class Abandoned : public std::exception {
   public:
    const char* what() const noexcept override { return "a worker before this one failed"; }
  };

  /// Returns when all lower numbers have passed. Throws Abandoned.
  void wait(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == number || failed_ < number; });
    if (next_ != number) throw Abandoned();
  }

  /// Ends the turn of the number that waited.
  void pass() {
    {
      const std::lock_guard lock(mutex_);
      ++next_;
    }
    changed_.notify_all();
  }

  /// Releases those behind a number that will not pass. Those before it still get their turn.
  void fail(std::uint64_t number) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (number < failed_) failed_ = number;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  std::uint64_t failed_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace synps
