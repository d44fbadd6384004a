#include "pack_frames.h"

#include <algorithm>
#include <set>
#include <vector>

#include "synps/frame_compressor.h"
#include "synps/hash.h"
#include "synps/parallel.h"
#include "turns.h"

namespace synps {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

/// Chunks of compressed components, numbered in data order, which is the order of their digests.
class FrameUnits {
 public:
  struct Unit {
    std::size_t weight = 0;
    std::size_t component = 0;
    std::uint64_t chunk = 0;
  };

  explicit FrameUnits(const ArtifactLayout& layout) : layout_(layout) {
    for (std::size_t w = 0; w < layout.index.weights.size(); ++w)
      for (std::size_t c = 0; c < layout.index.weights[w].components.size(); ++c)
        if (component(w, c).compressed()) components_.push_back({w, c, 0});
    std::sort(components_.begin(), components_.end(), [&](const Unit& a, const Unit& b) {
      return component(a.weight, a.component).first_digest <
             component(b.weight, b.component).first_digest;
    });
    for (Unit& each : components_) {
      each.chunk = count_;  // of its first unit
      count_ += component(each.weight, each.component).chunks();
    }
  }

  std::uint64_t count() const noexcept { return count_; }
  Unit at(std::uint64_t number) const {
    const auto after =
        std::upper_bound(components_.begin(), components_.end(), number,
                         [](std::uint64_t value, const Unit& each) { return value < each.chunk; });
    Unit unit = *std::prev(after);
    unit.chunk = number - unit.chunk;
    return unit;
  }

 private:
  const StoredComponent& component(std::size_t w, std::size_t c) const {
    return layout_.index.weights[w].components[c];
  }

  const ArtifactLayout& layout_;
  std::vector<Unit> components_;
  std::uint64_t count_ = 0;
};

/// What one worker keeps from chunk to chunk.
class FrameWorker {
 public:
  FrameWorker(ArtifactWriter& writer, const ArtifactLayout& layout, Turns& turns,
              Progress& progress, PackTrace* trace)
      : writer_(writer),
        layout_(layout),
        turns_(turns),
        progress_(progress),
        trace_(trace),
        buffer_(kReadBytes) {}

  /// pack(), measured where there is a trace.
  void pack_and_trace(std::uint64_t number, const FrameUnits::Unit& unit);

 private:
  void pack(std::uint64_t number, const FrameUnits::Unit& unit);
  void wait_for_turn(std::uint64_t number) {
    const Stopwatch watch(trace_ != nullptr ? &time_.waited : nullptr);
    turns_.wait(number);
  }
  void begin_frame(std::uint64_t number, bool streams);
  void take(std::uint64_t number, const FrameUnits::Unit& unit, bool streams,
            std::span<const std::byte> bytes);

  ArtifactWriter& writer_;
  const ArtifactLayout& layout_;
  Turns& turns_;
  Progress& progress_;
  PackTrace* trace_;  // null: nothing is measured
  UnitTime time_;     // of the present frame
  FrameCompressor compressor_;
  Hasher hasher_;
  std::uint64_t begin_ = 0;  ///< of the present frame, in the file
  std::uint64_t size_ = 0;   ///< of what there is of it
  std::vector<std::byte> buffer_;
};

void FrameWorker::pack_and_trace(std::uint64_t number, const FrameUnits::Unit& unit) {
  if (trace_ == nullptr) return pack(number, unit);
  time_ = {};
  time_.begin = Stopwatch::Clock::now();
  pack(number, unit);
  time_.end = Stopwatch::Clock::now();
  trace_->add_frame(unit.weight, time_);
}

void FrameWorker::pack(std::uint64_t number, const FrameUnits::Unit& unit) {
  const StoredWeight& weight = layout_.index.weights[unit.weight];
  const StoredComponent& stored = weight.components[unit.component];
  const FrameContent content = frame_content(weight, stored, unit.chunk);
  // A frame that comes in pieces has no buffer to wait in, so it waits for its place first.
  const bool streams = content.bytes > kSegmentBytes;
  begin_frame(number, streams);
  compressor_.begin(content, weight.asked.compress.level);
  const FrameCompressor::Sink sink = [&](std::span<const std::byte> bytes) {
    take(number, unit, streams, bytes);
  };
  for (std::uint64_t at = stored.chunk_begin(unit.chunk); !compressor_.complete();) {
    const std::uint64_t left = stored.chunk_end(unit.chunk) - at;
    const auto piece = std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), left));
    writer_.read(unit.weight, unit.component, at, piece);
    compressor_.add(piece, sink);
    at += piece.size();
    progress_.advance(piece.size());
  }
  if (!streams) return;
  writer_.set_frame(unit.weight, unit.component, unit.chunk, size_, hasher_.digest());
  turns_.pass();
}

void FrameWorker::begin_frame(std::uint64_t number, bool streams) {
  hasher_.reset();
  size_ = 0;
  if (!streams) return;
  wait_for_turn(number);
  begin_ = writer_.next_frame();
}

void FrameWorker::take(std::uint64_t number, const FrameUnits::Unit& unit, bool streams,
                       std::span<const std::byte> bytes) {
  hasher_.update(bytes);
  if (!streams) {  // these are all bytes of the frame
    const Digest digest = hasher_.digest();
    wait_for_turn(number);
    begin_ = writer_.next_frame();
    writer_.set_frame(unit.weight, unit.component, unit.chunk, bytes.size(), digest);
    turns_.pass();
  }
  writer_.write_frame(begin_ + size_, bytes);
  size_ += bytes.size();
}

}  // namespace

std::uint64_t bytes_to_compress(const ArtifactLayout& layout) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      if (stored.compressed()) bytes += stored.component.bytes;
  return bytes;
}

std::uint64_t frame_worker_bytes(const ArtifactLayout& layout) {
  std::set<int> levels;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      if (stored.compressed()) levels.insert(weight.asked.compress.level);
  std::uint64_t most = 0;
  for (const int level : levels) most = std::max(most, kReadBytes + FrameCompressor::memory(level));
  return most;
}

void pack_frames(ArtifactWriter& writer, const ArtifactLayout& layout, unsigned most_workers,
                 Progress& progress, PackTrace* trace) {
  const FrameUnits units(layout);
  if (units.count() == 0) return;
  const unsigned workers = worker_count(most_workers, units.count());
  Turns turns;
  std::vector<FrameWorker> all;
  all.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) all.emplace_back(writer, layout, turns, progress, trace);
  run_parallel(workers, units.count(), [&](unsigned worker, std::uint64_t number) {
    try {
      all[worker].pack_and_trace(number, units.at(number));
    } catch (...) {
      turns.fail(number);
      throw;
    }
  });
}

}  // namespace synps
