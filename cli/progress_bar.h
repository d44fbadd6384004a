#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "signals.h"

namespace synps::cli {

/// Shows on standard error how far some work is, when that is a terminal, and stops the work when
/// a signal asks for it: update() is a ProgressCallback.
class ProgressBar {
 public:
  /// `label` says what is going on: "packing".
  ProgressBar(std::string label, bool quiet);
  /// Wipes the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// From any thread, as often as wanted. False once a signal was noted.
  bool update(std::uint64_t done, std::uint64_t total) noexcept;

 private:
  void draw(std::uint64_t done, std::uint64_t total);

  std::string label_;
  bool visible_ = false;
  bool drawn_ = false;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
};

/// The text of a bar that fits `width` columns: label, share, bytes and, where there is room, a
/// bar and `bytes_per_second`.
std::string progress_text(const std::string& label, std::uint64_t done, std::uint64_t total,
                          double bytes_per_second, std::size_t width);

}  // namespace synps::cli
