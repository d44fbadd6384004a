#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/conversions.h"
#include "synps/plan.h"
#include "synps/trace.h"

namespace synps {

/// Adds what passes until its end to `total`; where that is null, no clock is read.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Stopwatch(std::chrono::nanoseconds* total) : total_(total) {
    if (total_ != nullptr) begin_ = Clock::now();
  }
  ~Stopwatch() {
    if (total_ != nullptr) *total_ += Clock::now() - begin_;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::chrono::nanoseconds* total_;
  Clock::time_point begin_{};
};

/// When a thread worked on a weight, and how long on parts of that.
struct UnitTime {
  std::chrono::steady_clock::time_point begin{};
  std::chrono::steady_clock::time_point end{};
  std::chrono::nanoseconds read{};  ///< of an artifact's weight: inflating, undoing its order
  std::chrono::nanoseconds fold{};
  std::chrono::nanoseconds relayout{};
  std::chrono::nanoseconds waited{};  ///< for other threads
};

/// Collects what the conversions of one file's weights take, and tells a sink. Thread-safe.
class PackTrace {
 public:
  PackTrace(TraceSink& sink, const Checkpoint& checkpoint, const Plan& plan)
      : sink_(sink),
        checkpoint_(checkpoint),
        plan_(plan),
        encoding_(plan.weights.size()),
        compressing_(plan.weights.size()) {}

  /// Bytes that it takes.
  static std::uint64_t memory(const Plan& plan) noexcept;

  /// Work on a weight's bytes, by its index in plan.layout.index.weights: before compressing, and
  /// by that.
  void add(std::size_t stored, const UnitTime& time) { add(encoding_, stored, time); }
  void add_frame(std::size_t stored, const UnitTime& time) { add(compressing_, stored, time); }

  /// One event for every conversion, in the sequence in which they began. `index` has the weights
  /// as they were written.
  void tell(const ArtifactIndex& index) const;

 private:
  struct WeightTime {
    UnitTime unit;  ///< from the first unit's begin to the last one's end
    std::chrono::nanoseconds busy{};
    bool any = false;
  };

  void add(std::vector<WeightTime>& times, std::size_t stored, const UnitTime& time);
  ConversionEvent event_of(const PlannedWeight& planned, PlannedConversion conversion) const;

  TraceSink& sink_;
  const Checkpoint& checkpoint_;
  const Plan& plan_;
  std::mutex mutex_;
  std::vector<WeightTime> encoding_;
  std::vector<WeightTime> compressing_;
};

}  // namespace synps
