#pragma once

#include <cstdint>
#include <mutex>

#include "synps/pack.h"

namespace synps {

/// Counts bytes for a callback, which is called from one thread at a time.
class Progress {
 public:
  /// `callback` outlives the object and may be empty. Throws Cancelled.
  Progress(const ProgressCallback& callback, std::uint64_t total);

  /// Throws Cancelled when the callback asks to stop, now or before.
  void advance(std::uint64_t bytes);

 private:
  const ProgressCallback& callback_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  const std::uint64_t total_;
  bool cancelled_ = false;
};

}  // namespace synps
