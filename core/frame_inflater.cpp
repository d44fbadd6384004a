#include "synps/frame_inflater.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>
#include <vector>

#include "byte_planes.h"
#include "frame_header.h"

namespace synps {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

std::size_t require(std::size_t result) {
  if (ZSTD_isError(result) == 0) return result;
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  throw FrameFault("the zstd frame is damaged", ZSTD_getErrorName(result));
}

}  // namespace

struct FrameInflater::State {
  struct Free {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };

  State() : context(ZSTD_createDCtx()), piece(kPieceBytes) {
    if (context == nullptr) throw std::bad_alloc();
    require(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, int{kFrameWindowLog}));
  }

  std::unique_ptr<ZSTD_DCtx, Free> context;
  FrameContent content;
  std::uint64_t stored = 0;
  Source source;
  std::uint64_t done = 0;  ///< bytes of the content that were given
  std::uint64_t read = 0;  ///< bytes of the frame that were read
  bool ended = false;      ///< zstd has seen the end of the frame
  ZSTD_inBuffer in{};      ///< what zstd has not taken of `piece`
  std::vector<std::byte> piece;
  std::vector<std::byte> planes;  ///< grows to the largest use, kSegmentBytes
};

FrameInflater::FrameInflater() : state_(std::make_unique<State>()) {}
FrameInflater::~FrameInflater() = default;
FrameInflater::FrameInflater(FrameInflater&&) noexcept = default;
FrameInflater& FrameInflater::operator=(FrameInflater&&) noexcept = default;

void FrameInflater::begin(const FrameContent& content, std::uint64_t stored, Source source) {
  State& state = *state_;
  state.content = content;
  state.stored = stored;
  state.source = std::move(source);
  state.done = 0;
  state.read = 0;
  state.ended = false;
  state.in = {};
  require(ZSTD_DCtx_reset(state.context.get(), ZSTD_reset_session_only));
  read_more();
  check_frame_header(std::span<const std::byte>(state.piece).first(state.in.size), content.bytes);
}

void FrameInflater::read_more() {
  State& state = *state_;
  const std::uint64_t size = std::min<std::uint64_t>(kPieceBytes, state.stored - state.read);
  const auto piece = std::span(state.piece).first(static_cast<std::size_t>(size));
  state.source(state.read, piece);
  state.read += size;
  state.in = {piece.data(), piece.size(), 0};
}

std::uint64_t FrameInflater::next_size() const noexcept {
  return segment_size(state_->content.bytes, state_->done);
}

void FrameInflater::next(std::span<std::byte> out) {
  State& state = *state_;
  const unsigned width = state.content.plane_width;
  if (width == 1) {
    inflate(out);
  } else {
    if (state.planes.size() < out.size()) state.planes.resize(out.size());
    const auto planes = std::span(state.planes).first(out.size());
    inflate(planes);
    join_planes(planes, width, out);
  }
  state.done += out.size();
  if (state.done == state.content.bytes) check_end();
}

void FrameInflater::inflate(std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size())
    if (!step(out, filled)) break;
  if (filled < out.size()) throw FrameFault("the zstd frame holds less than its chunk");
}

/// Lets zstd go on once. False when the frame has ended.
bool FrameInflater::step(std::span<std::byte> out, std::size_t& filled) {
  State& state = *state_;
  if (state.ended) return false;
  if (state.in.pos == state.in.size && state.read < state.stored) read_more();
  ZSTD_outBuffer place{out.data(), out.size(), filled};
  const std::size_t taken = state.in.pos;
  state.ended = require(ZSTD_decompressStream(state.context.get(), &place, &state.in)) == 0;
  const bool stuck = place.pos == filled && state.in.pos == taken && state.in.pos == state.in.size;
  filled = place.pos;
  if (!state.ended && stuck && state.read == state.stored)
    throw FrameFault("the zstd frame is cut short");
  return true;
}

/// Behind the content come the checksum and then nothing.
void FrameInflater::check_end() {
  State& state = *state_;
  std::size_t none = 0;
  while (step({}, none)) {
  }
  const std::uint64_t left = state.stored - state.read + (state.in.size - state.in.pos);
  if (left != 0)
    throw FrameFault("bytes follow the zstd frame of a chunk", fmt::format("{} bytes", left),
                     "none");
}

}  // namespace synps
