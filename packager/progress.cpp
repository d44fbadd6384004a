#include "progress.h"

namespace synps {

Progress::Progress(const ProgressCallback& callback, std::uint64_t total)
    : callback_(callback), total_(total) {
  advance(0);
}

void Progress::advance(std::uint64_t bytes) {
  if (!callback_) return;
  const std::lock_guard lock(mutex_);
  done_ += bytes;
  if (!cancelled_) cancelled_ = !callback_(done_, total_);
  if (cancelled_) throw Cancelled();
}

}  // namespace synps
