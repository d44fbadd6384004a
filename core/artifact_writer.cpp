#include "synps/artifact_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "artifact_place.h"
#include "synps/checked.h"

namespace synps {
namespace {

constexpr std::size_t kReadBackBytes = 256 * 1024;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

ArtifactWriter::ArtifactWriter(AtomicFile& file, const ArtifactLayout& layout)
    : file_(file),
      layout_(layout),
      sums_(layout.sums_bytes),
      known_(layout.chunk_count, 0),
      plain_(plain_digests(layout.index)) {
  frames_.reserve(layout.chunk_count - plain_);
  next_frame_ = layout.file_bytes;
  for (const StoredWeight& weight : layout.index.weights)
    for (const StoredComponent& stored : weight.components)
      if (stored.compressed())
        next_frame_ = std::min(next_frame_, layout.header_bytes + stored.offset);
  // A fresh file reads as zeros, so padding needs no writing.
  file_.allocate(layout_.file_bytes);
}

/// Where a true byte of a component is written. Bytes that are to be compressed are kept at the end
/// of the room for their chunk's frame, so that not even a frame that is written while they are
/// read can reach those that were not read.
std::uint64_t ArtifactWriter::place_of(const StoredComponent& stored, std::uint64_t offset) const {
  const std::uint64_t begin = layout_.header_bytes + stored.offset;
  if (!stored.compressed()) return begin + offset;
  const std::uint64_t chunk = offset / stored.chunk_bytes;
  const std::uint64_t chunk_begin = stored.chunk_begin(chunk);
  const std::uint64_t size = stored.chunk_end(chunk) - chunk_begin;
  const std::uint64_t room = chunk == 0 ? 0 : chunk * *frame_bound(stored.chunk_bytes);
  return begin + room + (*frame_bound(size) - size) + (offset - chunk_begin);
}

void ArtifactWriter::write(std::size_t weight, std::size_t component, std::uint64_t offset,
                           std::span<const std::byte> bytes) {
  const StoredComponent& stored = layout_.index.weights[weight].components[component];
  if (!range_fits(offset, bytes.size(), stored.component.bytes))
    throw Error({.code = ErrorCode::package,
                 .what = "the codec makes more bytes than it announced",
                 .field = stored.entry,
                 .found = fmt::format("{} bytes at offset {}", bytes.size(), offset),
                 .want = fmt::format("{} bytes in all", stored.component.bytes)});
  while (!bytes.empty()) {
    std::uint64_t size = bytes.size();
    if (stored.compressed())  // the room of a chunk's frame is larger than the chunk
      size = std::min(size, stored.chunk_end(offset / stored.chunk_bytes) - offset);
    file_.write(place_of(stored, offset), bytes.first(size));
    offset += size;
    bytes = bytes.subspan(size);
  }
}

void ArtifactWriter::read(std::size_t weight, std::size_t component, std::uint64_t offset,
                          std::span<std::byte> out) const {
  file_.read(file_offset(weight, component, offset), out);
}

std::uint64_t ArtifactWriter::file_offset(std::size_t weight, std::size_t component,
                                          std::uint64_t offset) const {
  return place_of(layout_.index.weights[weight].components[component], offset);
}

std::uint64_t ArtifactWriter::share(std::size_t weight, std::size_t component, std::uint64_t offset,
                                    const InputFile& from, std::uint64_t from_offset,
                                    std::uint64_t size) {
  return file_.share(file_offset(weight, component, offset), from, from_offset, size);
}

void ArtifactWriter::put_digest(const StoredComponent& stored, std::uint64_t chunk,
                                const Digest& digest) {
  std::copy(digest.begin(), digest.end(),
            sums_.begin() + std::ptrdiff_t(sum_offset(stored, chunk, plain_)));
}

void ArtifactWriter::set_digest(std::size_t weight, std::size_t component, std::uint64_t chunk,
                                const Digest& digest) {
  const StoredComponent& stored = layout_.index.weights[weight].components[component];
  if (stored.compressed()) return;
  put_digest(stored, chunk, digest);
  known_[stored.first_digest + chunk] = 1;
}

void ArtifactWriter::set_frame(std::size_t weight, std::size_t component, std::uint64_t chunk,
                               std::uint64_t size, const Digest& digest) {
  const StoredComponent& stored = layout_.index.weights[weight].components[component];
  if (stored.first_digest + chunk != plain_ + frames_.size())
    throw std::logic_error("a frame is out of its turn");
  put_digest(stored, chunk, digest);
  const std::size_t at = sum_offset(stored, chunk, plain_) + sizeof(Digest);
  for (std::size_t i = 0; i < sizeof size; ++i)
    sums_[at + i] = static_cast<std::byte>(size >> (8 * i) & 0xFF);
  frames_.push_back(size);
  next_frame_ += size;
}

void ArtifactWriter::compress_written(std::size_t weight, std::size_t component,
                                      FrameCompressor& compressor) {
  const StoredComponent& stored = layout_.index.weights[weight].components[component];
  for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk)
    compress_chunk(weight, component, chunk, compressor);
}

void ArtifactWriter::compress_chunk(std::size_t weight, std::size_t component, std::uint64_t chunk,
                                    FrameCompressor& compressor) {
  const StoredWeight& described = layout_.index.weights[weight];
  const StoredComponent& stored = described.components[component];
  Hasher hasher;
  std::uint64_t size = 0;
  const FrameCompressor::Sink sink = [&](std::span<const std::byte> bytes) {
    hasher.update(bytes);
    write_frame(next_frame_ + size, bytes);
    size += bytes.size();
  };
  compressor.begin(frame_content(described, stored, chunk), described.asked.compress.level);
  buffer_.resize(kReadBackBytes);
  for (std::uint64_t at = stored.chunk_begin(chunk); at < stored.chunk_end(chunk);) {
    const std::uint64_t left = stored.chunk_end(chunk) - at;
    const auto piece = std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), left));
    read(weight, component, at, piece);
    compressor.add(piece, sink);
    at += piece.size();
  }
  set_frame(weight, component, chunk, size, hasher.digest());
}

/// Components that were written and not yet compressed.
void ArtifactWriter::compress_rest() {
  std::optional<FrameCompressor> compressor;
  for (const ComponentNumber number : in_data_order(layout_.index)) {
    const StoredComponent& stored = number.in(layout_.index);
    if (!stored.compressed() || stored.first_digest < plain_ + frames_.size()) continue;
    if (!compressor) compressor.emplace();
    compress_written(number.weight, number.component, *compressor);
  }
}

void ArtifactWriter::read_back_digests() {
  std::vector<std::byte> buffer(kReadBackBytes);
  Hasher hasher;
  for (const ComponentNumber number : in_data_order(layout_.index)) {
    const StoredComponent& stored = number.in(layout_.index);
    if (stored.compressed()) break;  // the last class
    for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk) {
      if (known_[stored.first_digest + chunk] != 0) continue;
      hasher.reset();
      const std::uint64_t start = layout_.header_bytes + stored.offset;
      const std::uint64_t end = stored.chunk_end(chunk);
      for (std::uint64_t at = stored.chunk_begin(chunk); at < end;) {
        const std::span<std::byte> piece =
            std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - at));
        file_.read(start + at, piece);
        hasher.update(piece);
        at += piece.size();
      }
      set_digest(number.weight, number.component, chunk, hasher.digest());
    }
  }
}

/// The layout with the sizes that frames turned out to have.
ArtifactLayout ArtifactWriter::true_layout() const {
  ArtifactLayout layout = layout_;
  for (StoredWeight& weight : layout.index.weights)
    for (StoredComponent& stored : weight.components) {
      if (!stored.compressed()) continue;
      const auto first = frames_.begin() + std::ptrdiff_t(stored.first_digest - plain_);
      stored.stored_bytes =
          std::accumulate(first, first + std::ptrdiff_t(stored.chunks()), std::uint64_t{0});
    }
  settle_sizes(layout);
  layout.has_bounds = false;
  return layout;
}

std::optional<ArtifactLayout> ArtifactWriter::finish() {
  read_back_digests();
  compress_rest();
  std::optional<ArtifactLayout> settled;
  if (layout_.has_bounds) settled = true_layout();
  const ArtifactLayout& layout = settled ? *settled : layout_;
  file_.write(layout.header_bytes + layout.index_bytes, sums_);

  std::string json = to_json(layout.index, xxh3_128(sums_));
  json.resize(layout.index_bytes, ' ');
  file_.write(layout.header_bytes, bytes_of(json));
  index_digest_ = xxh3_128(bytes_of(json));
  file_.write(0, bytes_of(render_header(layout, index_digest_)));
  if (settled) file_.truncate(layout.file_bytes);
  return settled;
}

}  // namespace synps
