// Frames that are not what the format wants are refused in words, without a crash and in bounded
// memory.

#include <doctest/doctest.h>
#include <zstd.h>

#include <string>

#include "frame_samples.h"

namespace synps {
namespace {

using testing::Bytes;
using testing::compress;
using testing::filled;
using testing::Filling;
using testing::inflate;

Bytes good_frame(const Bytes& content) {
  FrameCompressor compressor;
  return compress(compressor, content, 1, 3);
}

/// What is wrong with the frame; empty when nothing is.
std::string fault_of(const Bytes& frame, std::size_t size, unsigned width = 1) {
  FrameInflater inflater;
  try {
    inflate(inflater, frame, size, width);
  } catch (const FrameFault& fault) {
    return std::string(fault.what()) + " / " + fault.found + " / " + fault.want;
  }
  return "";
}

bool says(const std::string& fault, std::string_view words) {
  INFO(fault);
  return fault.find(words) != std::string::npos;
}

struct Parameters {
  int checksum = 1;
  int content_size = 1;
  int window_log = 0;
};

Bytes frame_with(const Bytes& content, const Parameters& parameters) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, parameters.checksum);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, parameters.content_size);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, parameters.window_log);
  Bytes frame(ZSTD_compressBound(content.size()));
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size()));
  ZSTD_freeCCtx(context);
  return frame;
}

TEST_CASE("a frame of another content size is refused") {
  const Bytes content = filled(5000, Filling::text);
  const Bytes frame = good_frame(content);
  REQUIRE(fault_of(frame, 5000).empty());
  CHECK(says(fault_of(frame, 4999), "another size than its chunk has / 5000 bytes / 4999 bytes"));
  CHECK(says(fault_of(frame, 5001), "another size than its chunk has"));
}

TEST_CASE("a content size that lies is found when the blocks are read") {
  const Bytes content = filled(5000, Filling::text);
  Bytes frame = good_frame(content);
  // Magic number 4, descriptor 1, then two bytes of content size less 256.
  REQUIRE((std::to_integer<unsigned>(frame[4]) >> 6) == 1u);
  for (const int change : {1, -1}) {
    Bytes lying = frame;
    lying[5] = static_cast<std::byte>(std::to_integer<int>(frame[5]) + change);
    CHECK_FALSE(fault_of(lying, static_cast<std::size_t>(5000 + change)).empty());
  }
}

TEST_CASE("bytes behind the frame are refused, whatever they are") {
  const Bytes content = filled(5000, Filling::text);
  const Bytes good = good_frame(content);
  Bytes zeros = good;
  zeros.insert(zeros.end(), 7, std::byte{0});
  CHECK(says(fault_of(zeros, 5000), "bytes follow the zstd frame of a chunk / 7 bytes"));
  Bytes skippable = good;
  for (const int byte : {0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4})
    skippable.push_back(static_cast<std::byte>(byte));
  CHECK(says(fault_of(skippable, 5000), "bytes follow"));
  Bytes twice = good;
  twice.insert(twice.end(), good.begin(), good.end());
  CHECK(says(fault_of(twice, 5000), "bytes follow"));
  CHECK_FALSE(fault_of(twice, 10000).empty());
  // Far behind, where they come in another piece of the file.
  Bytes noise = good_frame(filled(200000, Filling::noise));
  noise.push_back(std::byte{1});
  CHECK(says(fault_of(noise, 200000), "bytes follow"));
}

TEST_CASE("a skippable frame, another magic number and nothing at all are refused") {
  Bytes skippable;
  for (const int byte : {0x5F, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4})
    skippable.push_back(static_cast<std::byte>(byte));
  CHECK(says(fault_of(skippable, 4), "a skippable zstd frame stands"));
  CHECK(says(fault_of(Bytes(30), 4), "not a zstd frame / magic number 00000000 / fd2fb528"));
  CHECK(says(fault_of({}, 4), "cut short"));
  // Old versions of the format, which libzstd may still read.
  Bytes legacy = good_frame(filled(100, Filling::text));
  legacy[0] = std::byte{0x27};
  CHECK(says(fault_of(legacy, 100), "not a zstd frame"));
}

TEST_CASE("every truncation is refused") {
  for (const std::size_t size : {std::size_t{300}, std::size_t{140000}}) {
    const Bytes frame = good_frame(filled(size, size == 300 ? Filling::text : Filling::noise));
    for (std::size_t keep = 0; keep < frame.size(); keep += keep < 400 ? 1 : 9973)
      CHECK_FALSE(
          fault_of(Bytes(frame.begin(), frame.begin() + std::ptrdiff_t(keep)), size).empty());
  }
}

TEST_CASE("every flipped bit is refused, or changes nothing") {
  const Bytes content = filled(700, Filling::text);
  const Bytes frame = good_frame(content);
  FrameInflater inflater;
  std::size_t refused = 0;
  std::size_t changed = 0;
  for (std::size_t at = 0; at < frame.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes damaged = frame;
      damaged[at] ^= static_cast<std::byte>(1u << bit);
      try {
        if (inflate(inflater, damaged, content.size(), 1) != content) ++changed;
      } catch (const FrameFault&) {
        ++refused;
      }
    }
  CHECK(changed == 0);
  CHECK(refused > 7 * frame.size());
}

TEST_CASE("checksum and content size must be there") {
  const Bytes content = filled(5000, Filling::text);
  CHECK(says(fault_of(frame_with(content, {.checksum = 0}), 5000), "has no checksum"));
  CHECK(says(fault_of(frame_with(content, {.content_size = 0}), 5000),
             "does not tell the size of its content"));
  // A small frame without a size but in one segment has a field of one byte: size 0 to 255.
  CHECK(fault_of(frame_with(filled(100, Filling::text), {}), 100).empty());
}

TEST_CASE("a checksum that does not fit is refused") {
  Bytes frame = good_frame(filled(5000, Filling::text));
  frame.back() ^= std::byte{1};
  CHECK(says(fault_of(frame, 5000), "damaged"));
}

TEST_CASE("a dictionary and reserved bits are refused") {
  const Bytes good = good_frame(filled(5000, Filling::text));
  for (const unsigned id_size : {1u, 2u, 3u}) {
    Bytes frame = good;
    frame[4] |= static_cast<std::byte>(id_size);
    CHECK(says(fault_of(frame, 5000), "needs a dictionary"));
  }
  Bytes frame = good;
  frame[4] |= std::byte{8};
  CHECK(says(fault_of(frame, 5000), "reserved bit"));
}

TEST_CASE("windows above 1 MiB are refused before memory is taken for them") {
  const std::size_t size = 3u << 20;
  const Bytes content(size);
  CHECK(says(fault_of(frame_with(content, {}), size), "larger window"));  // one segment of 3 MiB
  CHECK(says(fault_of(frame_with(content, {.window_log = 21}), size), "larger window"));
  CHECK(fault_of(frame_with(content, {.window_log = 20}), size).empty());
  // A descriptor byte that asks for 2^41 bytes and more.
  Bytes bomb = frame_with(content, {.window_log = 20});
  bomb[5] = std::byte{0xFF};
  CHECK(says(fault_of(bomb, size), "larger window"));
}

TEST_CASE("a frame that unfolds to more than it says is refused") {
  // Ten RLE blocks of 128 KiB in a frame that announces 100 bytes.
  Bytes bomb;
  for (const int byte : {0x28, 0xB5, 0x2F, 0xFD, 0x24, 100})
    bomb.push_back(static_cast<std::byte>(byte));
  for (int block = 0; block < 10; ++block) {
    const unsigned header = (131072u << 3) | (1u << 1) | (block == 9 ? 1u : 0u);
    for (const unsigned shift : {0u, 8u, 16u})
      bomb.push_back(static_cast<std::byte>(header >> shift));
    bomb.push_back(std::byte{0});
  }
  bomb.insert(bomb.end(), 4, std::byte{0});
  CHECK(says(fault_of(bomb, 100), "damaged"));
}

}  // namespace
}  // namespace synps
