#include "synps/artifact_writer.h"

#include <fmt/format.h>

#include <algorithm>
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
    : file_(file), layout_(layout), sums_(layout.sums_bytes), known_(layout.chunk_count, 0) {
  // A fresh file reads as zeros, so padding needs no writing.
  file_.allocate(layout_.file_bytes);
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
  file_.write(layout_.header_bytes + stored.offset + offset, bytes);
}

std::uint64_t ArtifactWriter::file_offset(std::size_t weight,
                                          std::size_t component) const noexcept {
  return layout_.header_bytes + layout_.index.weights[weight].components[component].offset;
}

std::uint64_t ArtifactWriter::share(std::size_t weight, std::size_t component, std::uint64_t offset,
                                    const InputFile& from, std::uint64_t from_offset,
                                    std::uint64_t size) {
  return file_.share(file_offset(weight, component) + offset, from, from_offset, size);
}

void ArtifactWriter::read(std::size_t weight, std::size_t component, std::uint64_t offset,
                          std::span<std::byte> out) const {
  file_.read(file_offset(weight, component) + offset, out);
}

void ArtifactWriter::set_digest(std::size_t weight, std::size_t component, std::uint64_t chunk,
                                const Digest& digest) {
  const StoredComponent& stored = layout_.index.weights[weight].components[component];
  std::copy(digest.begin(), digest.end(),
            sums_.begin() + std::ptrdiff_t(sizeof(Digest) * (stored.first_digest + chunk)));
  known_[stored.first_digest + chunk] = 1;
}

void ArtifactWriter::read_back_digests() {
  std::vector<std::byte> buffer(kReadBackBytes);
  Hasher hasher;
  for (const ComponentNumber number : in_data_order(layout_.index)) {
    const StoredComponent& stored = number.in(layout_.index);
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

void ArtifactWriter::finish() {
  read_back_digests();
  file_.write(layout_.header_bytes + layout_.index_bytes, sums_);

  std::string json = to_json(layout_.index, xxh3_128(sums_));
  json.resize(layout_.index_bytes, ' ');
  file_.write(layout_.header_bytes, bytes_of(json));
  file_.write(0, bytes_of(render_header(layout_, xxh3_128(bytes_of(json)))));
}

}  // namespace synps
