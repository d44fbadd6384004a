#include "synps/frame.h"

#include <doctest/doctest.h>
#include <zstd.h>

#include "byte_planes.h"
#include "frame_samples.h"
#include "synps/form.h"

namespace synps {
namespace {

using testing::Bytes;
using testing::compress;
using testing::filled;
using testing::Filling;
using testing::inflate;

constexpr std::size_t kMiB = 1u << 20;

TEST_CASE("floats of two bytes and more have planes, nothing else") {
  for (const DType dtype : all_dtypes()) {
    CAPTURE(dtype_name(dtype));
    const bool split =
        dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
    CHECK(plane_width(dtype) == (split ? dtype_bits(dtype) / 8 : 1));
  }
}

TEST_CASE("planes hold byte p of every element, and join again") {
  for (const unsigned width : {2u, 4u, 8u})
    for (const std::size_t elements : {0u, 1u, 2u, 31u, 1000u}) {
      const Bytes content = filled(width * elements, Filling::noise, width);
      Bytes planes(content.size());
      split_planes(content, width, planes);
      for (std::size_t i = 0; i < elements; ++i)
        for (std::size_t p = 0; p < width; ++p)
          CHECK(planes[p * elements + i] == content[i * width + p]);
      Bytes again(content.size());
      join_planes(planes, width, again);
      CHECK(again == content);
    }
}

TEST_CASE("a frame is at most its bound, which is zstd's, and at least its floor") {
  FrameCompressor compressor;
  for (const std::size_t size : {1u, 2u, 255u, 256u, 65535u, 131071u, 131072u, 131073u, 1048576u}) {
    CAPTURE(size);
    CHECK(*frame_bound(size) == ZSTD_compressBound(size));
    for (const Filling filling : {Filling::zeros, Filling::noise, Filling::text}) {
      const std::size_t frame = compress(compressor, filled(size, filling), 1, 3).size();
      CHECK(frame >= frame_floor(size));
      CHECK(frame <= *frame_bound(size));
    }
  }
  const std::size_t zeros = compress(compressor, Bytes(20 * kMiB), 1, 19).size();
  CHECK(zeros >= frame_floor(20 * kMiB));
  CHECK(zeros < frame_floor(20 * kMiB) + 200);  // the floor is near what can be reached
  CHECK_FALSE(frame_bound(~std::uint64_t{0}).has_value());
}

TEST_CASE("content comes back, and zstd alone reads what has no planes") {
  FrameCompressor compressor;
  FrameInflater inflater;
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{4096}, kMiB - 8, kMiB, kMiB + 8, 3 * kMiB, 3 * kMiB + 131080})
    for (const Filling filling : {Filling::zeros, Filling::noise, Filling::text})
      for (const unsigned width : {1u, 2u, 4u, 8u}) {
        CAPTURE(size);
        CAPTURE(width);
        const Bytes content = filled(size, filling, width);
        const Bytes frame = compress(compressor, content, width, 1);
        CHECK(inflate(inflater, frame, size, width) == content);
        CHECK(ZSTD_findFrameCompressedSize(frame.data(), frame.size()) == frame.size());
        CHECK(ZSTD_getFrameContentSize(frame.data(), frame.size()) == size);
        if (width != 1) continue;
        Bytes plain(size);
        CHECK(ZSTD_decompress(plain.data(), size, frame.data(), frame.size()) == size);
        CHECK(plain == content);
      }
}

TEST_CASE("planes are those of segments of 1 MiB") {
  FrameCompressor compressor;
  const Bytes content = filled(2 * kMiB + 24, Filling::noise);
  const Bytes frame = compress(compressor, content, 8, 1);
  Bytes planes(content.size());
  ZSTD_decompress(planes.data(), planes.size(), frame.data(), frame.size());
  Bytes expected(content.size());
  for (std::size_t at = 0; at < content.size(); at += kMiB) {
    const std::size_t size = std::min(kMiB, content.size() - at);
    split_planes(std::span(content).subspan(at, size), 8, std::span(expected).subspan(at, size));
  }
  CHECK(planes == expected);
}

TEST_CASE("a frame depends on content and level, not on pieces or what was compressed before") {
  FrameCompressor reused;
  compress(reused, filled(2 * kMiB, Filling::text, 7), 4, 19);
  compress(reused, filled(100, Filling::noise), 1, 1);
  for (int level = kMinZstdLevel; level <= kMaxZstdLevel; ++level)
    for (const std::size_t size : {std::size_t{70000}, kMiB + 4096}) {
      // Frames of several segments, which are slow at high levels, for some.
      if (size > kMiB && level != 1 && level != 3 && level % 8 != 0) continue;
      CAPTURE(level);
      CAPTURE(size);
      const Bytes content = filled(size, Filling::text, static_cast<std::uint32_t>(level));
      FrameCompressor fresh;
      const Bytes whole = compress(fresh, content, 2, level);
      CHECK(compress(reused, content, 2, level) == whole);
      CHECK(compress(reused, content, 2, level, 9973) == whole);
      CHECK(compress(reused, content, 2, level, 2 * 65536) == whole);
    }
}

TEST_CASE("a frame that was given up does not disturb the next") {
  FrameCompressor compressor;
  FrameInflater inflater;
  const Bytes content = filled(3 * kMiB, Filling::text);
  const Bytes expected = compress(compressor, content, 4, 3);
  compressor.begin({content.size(), 4}, 5);
  compressor.add(std::span(content).first(2 * kMiB + 5), [](std::span<const std::byte>) {});
  CHECK_FALSE(compressor.complete());
  CHECK(compress(compressor, content, 4, 3) == expected);
  inflater.begin({content.size(), 4}, expected.size(),
                 [&](std::uint64_t at, std::span<std::byte> out) {
                   std::copy_n(expected.begin() + std::ptrdiff_t(at), out.size(), out.begin());
                 });
  Bytes segment(inflater.next_size());
  inflater.next(segment);
  CHECK(inflate(inflater, expected, content.size(), 4) == content);
}

TEST_CASE("memory is priced, grows with the level and covers what the default level needs") {
  std::uint64_t before = 0;
  for (int level = kMinZstdLevel; level <= kMaxZstdLevel; ++level) {
    CAPTURE(level);
    const std::uint64_t memory = FrameCompressor::memory(level);
    CHECK(memory >= before);
    before = memory;
  }
  CHECK(FrameCompressor::memory(kDefaultZstdLevel) < 6 * kMiB);
  CHECK(FrameCompressor::memory(kMaxZstdLevel) < 24 * kMiB);
}

TEST_CASE("requests of compression have one spelling, and levels a range") {
  CHECK(compress_request_from("none") == CompressRequest{});
  CHECK(compress_request_from("zstd") == CompressRequest{Compression::zstd, 3});
  CHECK(compress_request_from("zstd:1") == CompressRequest{Compression::zstd, 1});
  CHECK(compress_request_from("zstd:19") == CompressRequest{Compression::zstd, 19});
  for (const char* text :
       {"", "zst", "ZSTD", "zstd:", "zstd:0", "zstd:20", "zstd:22", "zstd:-1", "zstd:+3", "zstd:03",
        "zstd:3 ", "zstd:3x", "zstd:99999999999", "gzip", "none:1", " zstd"})
    CHECK_FALSE(compress_request_from(text).has_value());
  CHECK(to_string(CompressRequest{}) == "none");
  CHECK(to_string(CompressRequest{Compression::zstd, 7}) == "zstd:7");
}

}  // namespace
}  // namespace synps
