#pragma once

// Contents for frames, and frames made and opened without an artifact.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "synps/frame_compressor.h"
#include "synps/frame_inflater.h"

namespace synps::testing {

using Bytes = std::vector<std::byte>;

enum class Filling { zeros, noise, text };

inline Bytes filled(std::size_t size, Filling filling, std::uint32_t seed = 1) {
  Bytes bytes(size);
  std::mt19937 random(seed);
  if (filling == Filling::noise)
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xFF);
  if (filling == Filling::text)  // few values, and repeats at some distance
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = i >= 5000 && random() % 8 != 0 ? bytes[i - 4999] : std::byte(random() % 7);
  return bytes;
}

/// The frame of a content that comes in pieces of `piece` bytes.
inline Bytes compress(FrameCompressor& compressor, const Bytes& content, unsigned width, int level,
                      std::size_t piece = std::size_t{1} << 30) {
  Bytes frame;
  const FrameCompressor::Sink sink = [&](std::span<const std::byte> bytes) {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
  };
  compressor.begin({content.size(), width}, level);
  for (std::size_t at = 0; at < content.size(); at += piece)
    compressor.add(std::span(content).subspan(at, std::min(piece, content.size() - at)), sink);
  return frame;
}

/// Throws FrameFault.
inline Bytes inflate(FrameInflater& inflater, const Bytes& frame, std::size_t size,
                     unsigned width) {
  Bytes content(size);
  inflater.begin({size, width}, frame.size(), [&](std::uint64_t at, std::span<std::byte> out) {
    std::copy_n(frame.begin() + std::ptrdiff_t(at), out.size(), out.begin());
  });
  for (std::size_t at = 0; at < size;) {
    const std::size_t segment = inflater.next_size();
    inflater.next(std::span(content).subspan(at, segment));
    at += segment;
  }
  return content;
}

}  // namespace synps::testing
