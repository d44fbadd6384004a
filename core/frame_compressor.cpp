#include "synps/frame_compressor.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <new>

#include "byte_planes.h"
#include "synps/error.h"
#include "synps/form.h"

namespace synps {
namespace {

constexpr std::size_t kOutBytes = 128 * 1024;  // a piece of a frame of several segments

/// Only memory can run out here: parameters, buffers and sizes are ours.
std::size_t require(std::size_t result) {
  if (ZSTD_isError(result) == 0) return result;
  throw Error({.code = ErrorCode::limit,
               .what = "zstd cannot compress",
               .found = ZSTD_getErrorName(result),
               .hint = "use a lower level or fewer jobs: higher levels need more memory"});
}

}  // namespace

struct FrameCompressor::State {
  State() : context(ZSTD_createCCtx()) {
    if (context == nullptr) throw std::bad_alloc();
  }
  ~State() { ZSTD_freeCCtx(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Bytes of the present segment.
  std::span<std::byte> filled() { return std::span(segment).first(fill); }

  ZSTD_CCtx* context;
  FrameContent content;
  std::uint64_t done = 0;          ///< bytes of the content before the present segment
  std::size_t fill = 0;            ///< bytes of the present segment
  std::vector<std::byte> segment;  ///< grow to the largest use, kSegmentBytes
  std::vector<std::byte> planes;
  std::vector<std::byte> out;
};

FrameCompressor::FrameCompressor() : state_(std::make_unique<State>()) {}
FrameCompressor::~FrameCompressor() = default;
FrameCompressor::FrameCompressor(FrameCompressor&&) noexcept = default;
FrameCompressor& FrameCompressor::operator=(FrameCompressor&&) noexcept = default;

void FrameCompressor::begin(const FrameContent& content, int level) {
  State& state = *state_;
  state.content = content;
  state.done = 0;
  state.fill = 0;
  const std::size_t segment = static_cast<std::size_t>(segment_size(content.bytes, 0));
  const std::size_t planes = content.plane_width == 1 ? 0 : segment;
  const std::size_t out = content.bytes == segment ? *frame_bound(segment) : kOutBytes;
  if (state.segment.size() < segment) state.segment.resize(segment);
  if (state.planes.size() < planes) state.planes.resize(planes);
  if (state.out.size() < out) state.out.resize(out);
  require(ZSTD_CCtx_reset(state.context, ZSTD_reset_session_only));
  require(ZSTD_CCtx_setParameter(state.context, ZSTD_c_compressionLevel, level));
  require(ZSTD_CCtx_setParameter(state.context, ZSTD_c_checksumFlag, 1));
  require(ZSTD_CCtx_setParameter(state.context, ZSTD_c_windowLog, int{kFrameWindowLog}));
  require(ZSTD_CCtx_setPledgedSrcSize(state.context, content.bytes));
}

bool FrameCompressor::complete() const noexcept {
  return state_->done == state_->content.bytes;
}

void FrameCompressor::add(std::span<const std::byte> bytes, const Sink& sink) {
  State& state = *state_;
  while (!bytes.empty() && !complete()) {
    const auto segment = static_cast<std::size_t>(segment_size(state.content.bytes, state.done));
    const std::size_t size = std::min(bytes.size(), segment - state.fill);
    std::copy_n(bytes.begin(), size, state.segment.begin() + std::ptrdiff_t(state.fill));
    state.fill += size;
    bytes = bytes.subspan(size);
    if (state.fill == segment) compress_segment(sink);
  }
}

void FrameCompressor::compress_segment(const Sink& sink) {
  State& state = *state_;
  std::span<const std::byte> segment = state.filled();
  if (state.content.plane_width != 1) {
    const auto planes = std::span(state.planes).first(segment.size());
    split_planes(segment, state.content.plane_width, planes);
    segment = planes;
  }
  const bool only = segment.size() == state.content.bytes;
  state.done += state.fill;
  state.fill = 0;
  if (!only) return compress_stream(segment, complete(), sink);
  const std::size_t size = require(ZSTD_compress2(state.context, state.out.data(), state.out.size(),
                                                  segment.data(), segment.size()));
  sink(std::span<const std::byte>(state.out).first(size));
}

/// The sizes of what zstd is given at a time are fixed, because its output may depend on them.
void FrameCompressor::compress_stream(std::span<const std::byte> segment, bool last,
                                      const Sink& sink) {
  State& state = *state_;
  ZSTD_inBuffer in{segment.data(), segment.size(), 0};
  const ZSTD_EndDirective mode = last ? ZSTD_e_end : ZSTD_e_continue;
  for (;;) {
    ZSTD_outBuffer out{state.out.data(), kOutBytes, 0};
    const std::size_t left = require(ZSTD_compressStream2(state.context, &out, &in, mode));
    if (out.pos != 0) sink(std::span<const std::byte>(state.out).first(out.pos));
    if (last ? left == 0 : in.pos == in.size) return;
  }
}

std::uint64_t FrameCompressor::memory(int level) {
  FrameCompressor compressor;
  State& state = *compressor.state_;
  // Frames of several segments take most: they have buffers in the context, too.
  compressor.begin({kSegmentBytes + 8, 8}, level);
  const std::vector<std::byte> zeros(kSegmentBytes + 8);
  compressor.add(zeros, [](std::span<const std::byte>) {});
  const std::uint64_t buffers = 2 * kSegmentBytes + *frame_bound(kSegmentBytes);
  return buffers + ZSTD_sizeof_CCtx(state.context);
}

}  // namespace synps
