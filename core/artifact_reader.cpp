#include "synps/artifact_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "artifact_header.h"
#include "artifact_place.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"

namespace synps {
namespace {

/// Where the digits of synps.index stand in the header. The quotes make the text unique: inside a
/// JSON string they would be escaped.
constexpr std::string_view kIndexDigest = "\"synps.index\":\"";

std::uint64_t load_u64(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

Error damaged(const std::string& file, std::string what, std::string field) {
  return Error({.code = ErrorCode::artifact,
                .file = file,
                .what = std::move(what),
                .field = std::move(field),
                .hint = "the file is damaged; make or copy it again"});
}

Error malformed_index_digest(const std::string& file) {
  return damaged(file, "the digest of the index is malformed", "__metadata__.synps.index");
}

}  // namespace

ArtifactReader::ArtifactReader(const std::string& path, Os& os)
    : file_(os, path, ErrorCode::artifact), mapping_(file_) {
  open_header();
  open_index();
  check_bounds();
  // So that there are no more chunks than digests, and memory for them is in proportion.
  if (sums_used(index_) > sums_bytes_)
    throw damaged(file_.path(), "the list of digests is shorter than its chunks need",
                  std::string(kSumsEntry));
  if (index_.zstd.empty()) return;  // nothing is compressed
  check_digest_numbers();
  read_frame_sizes();
}

bool ArtifactReader::recognises(const std::string& path, Os& os) {
  try {
    return has_artifact_metadata(InputFile(os, path));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return false;  // a folder, a FIFO, a device
  }
}

/// Reads what the header says about the index.
void ArtifactReader::open_header() {
  HeaderPrefix prefix = read_header_prefix(file_);
  metadata_ = std::move(prefix.metadata);
  data_start_ = prefix.bytes;
  index_bytes_ = prefix.index_bytes;
  sums_bytes_ = prefix.sums_bytes;
}

void ArtifactReader::open_index() {
  const auto digest = digest_from_hex(metadata_["synps.index"]);
  if (!digest) throw malformed_index_digest(file_.path());
  index_digest_ = *digest;
  const auto bytes = mapping_.bytes().subspan(data_start_, index_bytes_);
  if (xxh3_128(bytes) != index_digest_)
    throw damaged(file_.path(), "the index does not fit its digest in the header",
                  std::string(kIndexEntry));
  index_ = parse_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file_.path());
  check_header_digest();
}

/// The header is hashed with zeros for the digits of synps.index.
void ArtifactReader::check_header_digest() const {
  constexpr std::size_t kDigits = 2 * sizeof(Digest);
  const auto header = mapping_.bytes().first(data_start_);
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  const std::size_t at = text.find(kIndexDigest);
  if (at == text.npos || !range_fits(at + kIndexDigest.size(), kDigits, text.size()))
    throw malformed_index_digest(file_.path());
  const std::size_t digits = at + kIndexDigest.size();
  Hasher hasher;
  hasher.update(header.first(digits));
  const std::string zeros(kDigits, '0');
  hasher.update(std::as_bytes(std::span(zeros)));
  hasher.update(header.subspan(digits + kDigits));
  if (hasher.digest() != index_.header)
    throw damaged(file_.path(), "the header does not fit its digest in the index", "header");
}

/// What must hold before any offset of the index is used.
void ArtifactReader::check_bounds() const {
  const auto fail = [&](const std::string& field, std::string want) {
    throw Error({.code = ErrorCode::artifact,
                 .file = file_.path(),
                 .what = "the artifact's index does not fit the file",
                 .field = field,
                 .want = std::move(want)});
  };
  std::uint64_t end = index_bytes_ + sums_bytes_;
  std::uint64_t total = end;
  for (const StoredWeight& weight : index_.weights)
    for (const StoredComponent& stored : weight.components) {
      const bool inside = stored.offset >= index_bytes_ + sums_bytes_ &&
                          range_fits(stored.offset, stored.stored_bytes, data_size());
      if (!inside) fail(stored.entry, "an entry inside the data section");
      if (!range_fits(stored.first_digest, stored.chunks(), sums_bytes_ / sizeof(Digest)))
        fail(stored.entry, "digests inside " + std::string(kSumsEntry));
      end = std::max(end, stored.offset + stored.stored_bytes);
      const auto sum = checked_add(total, stored.stored_bytes);
      if (!sum) fail(stored.entry, "sizes that add up to a file's");
      total = *sum;
    }
  if (end == data_size() && total == end) return;
  throw Error({.code = ErrorCode::artifact,
               .file = file_.path(),
               .what = end > total ? "entries leave holes in the data section"
                                   : "the file's length is not what its index says",
               .found = fmt::format("{} bytes", file_.size()),
               .want = fmt::format("{} bytes", data_start_ + total),
               .hint = "it was cut short or something was appended; copy it again"});
}

/// The sums mix entries of two sizes, so that a wrong number would lead into the middle of one.
void ArtifactReader::check_digest_numbers() const {
  ArtifactIndex numbered = index_;
  number_digests(numbered);
  for (std::size_t w = 0; w < index_.weights.size(); ++w)
    for (std::size_t c = 0; c < index_.weights[w].components.size(); ++c) {
      const StoredComponent& stored = index_.weights[w].components[c];
      if (stored.first_digest != numbered.weights[w].components[c].first_digest)
        throw damaged(file_.path(), "the number of a component's digest is not the format's",
                      stored.entry);
    }
}

void ArtifactReader::read_frame_sizes() {
  plain_digests_ = plain_digests(index_);
  std::vector<std::byte> sums(sums_used(index_) - sizeof(Digest) * plain_digests_);
  const std::uint64_t begin = data_start_ + index_bytes_ + sizeof(Digest) * plain_digests_;
  file_.read(begin, sums);
  const std::uint64_t step = sum_bytes(Compression::zstd);
  frame_ends_.resize(sums.size() / step);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;  // no file is so long
  for (const StoredWeight& weight : index_.weights)
    for (const StoredComponent& stored : weight.components) {
      if (!stored.compressed()) continue;
      std::uint64_t end = 0;
      for (std::uint64_t chunk = 0; chunk < stored.chunks(); ++chunk) {
        const std::uint64_t number = stored.first_digest - plain_digests_ + chunk;
        const auto field = std::span(sums).subspan(number * step + sizeof(Digest));
        end = std::min(kMost, checked_add(end, load_u64(field)).value_or(kMost));
        frame_ends_[number] = end;
      }
    }
}

std::map<std::string, std::string> ArtifactReader::source_metadata() const {
  std::map<std::string, std::string> source = metadata_;
  if (const auto format = metadata_.find("synps.source.format"); format != metadata_.end())
    source["format"] = format->second;
  else if (const auto own = metadata_.find("format");
           own != metadata_.end() && own->second == "synps")
    source.erase("format");
  std::erase_if(source, [](const auto& row) { return row.first.starts_with("synps."); });
  return source;
}

const StoredWeight* ArtifactReader::find(std::string_view path) const noexcept {
  const auto at = std::lower_bound(index_.weights.begin(), index_.weights.end(), path,
                                   [](const StoredWeight& weight, std::string_view wanted) {
                                     return weight.weight.path < wanted;
                                   });
  return at != index_.weights.end() && at->weight.path == path ? &*at : nullptr;
}

std::span<const std::byte> ArtifactReader::bytes(const StoredComponent& component) const {
  if (component.compressed())
    throw Error({.code = ErrorCode::usage,
                 .file = file_.path(),
                 .what = "a compressed component has no bytes in the file to look at",
                 .field = component.entry,
                 .hint = "inflate it with ComponentReader"});
  return mapping_.bytes().subspan(file_offset(component), component.component.bytes);
}

std::uint64_t ArtifactReader::frame_end(const StoredComponent& component,
                                        std::uint64_t chunk) const noexcept {
  return frame_ends_[component.first_digest - plain_digests_ + chunk];
}

ArtifactReader::ChunkPlace ArtifactReader::place_of(const StoredWeight& weight,
                                                    const StoredComponent& component,
                                                    std::uint64_t chunk) const {
  const std::uint64_t start = file_offset(component);
  if (!component.compressed()) {
    const std::uint64_t begin = component.chunk_begin(chunk);
    return {start + begin, component.chunk_end(chunk) - begin};
  }
  const std::uint64_t begin = chunk == 0 ? 0 : frame_end(component, chunk - 1);
  const std::uint64_t end = frame_end(component, chunk);
  const std::uint64_t content = component.chunk_end(chunk) - component.chunk_begin(chunk);
  const std::uint64_t size = end - begin;  // ends never fall
  const bool possible = size >= frame_floor(content) && size <= frame_bound(content).value_or(0);
  const bool last = chunk + 1 == component.chunks();
  if (possible && (last ? end == component.stored_bytes : end < component.stored_bytes))
    return {start + begin, size};
  Problem problem = chunk_problem(
      weight, component, chunk,
      data_start_ + index_bytes_ + sum_offset(component, chunk, plain_digests_) + sizeof(Digest));
  problem.what = "the size of a frame in " + std::string(kSumsEntry) +
                 " is none that the chunk can have, or frames do not add up to their component";
  problem.found = fmt::format("{} bytes for a chunk of {}", size, content);
  throw Error(std::move(problem));
}

/// What problems of chunks have in common.
Problem ArtifactReader::chunk_problem(const StoredWeight& weight, const StoredComponent& component,
                                      std::uint64_t chunk, std::uint64_t offset) const {
  std::string rows;
  if (component.chunk_rows != 0 && weight.weight.shape.rank() >= 2)
    rows =
        fmt::format(", rows {} to {}", chunk * component.chunk_rows,
                    std::min(weight.weight.shape.rows(), (chunk + 1) * component.chunk_rows) - 1);
  return {.code = ErrorCode::artifact,
          .file = file_.path(),
          .field = fmt::format("{}, component {}, chunk {}{}", weight.weight.path,
                               component.component.name, chunk, rows),
          .offset = offset,
          .hint = "the file is damaged; make or copy it again"};
}

Problem ArtifactReader::damaged_chunk(const StoredWeight& weight, const StoredComponent& component,
                                      std::uint64_t chunk) const {
  Problem problem =
      chunk_problem(weight, component, chunk, place_of(weight, component, chunk).offset);
  problem.what = "stored bytes do not fit their digest";
  return problem;
}

Problem ArtifactReader::bad_frame(const StoredWeight& weight, const StoredComponent& component,
                                  std::uint64_t chunk, const FrameFault& fault) const {
  Problem problem =
      chunk_problem(weight, component, chunk, place_of(weight, component, chunk).offset);
  problem.what = fault.what();
  problem.found = fault.found;
  problem.want = fault.want;
  return problem;
}

void ArtifactReader::check_chunk(const StoredWeight& weight, const StoredComponent& component,
                                 std::uint64_t chunk) const {
  const ChunkPlace place = place_of(weight, component, chunk);
  check_chunk(weight, component, chunk, mapping_.bytes().subspan(place.offset, place.size));
}

void ArtifactReader::check_chunk(const StoredWeight& weight, const StoredComponent& component,
                                 std::uint64_t chunk, std::span<const std::byte> bytes) const {
  if (xxh3_128(bytes) != stored_digest(component, chunk))
    throw Error(damaged_chunk(weight, component, chunk));
}

void ArtifactReader::read_and_check_chunk(const StoredWeight& weight,
                                          const StoredComponent& component, std::uint64_t chunk,
                                          std::span<std::byte> buffer) const {
  const ChunkPlace place = place_of(weight, component, chunk);
  if (read_digest(place, buffer) != stored_digest(component, chunk))
    throw Error(damaged_chunk(weight, component, chunk));
}

/// What the sums say. Read rather than mapped, as the file may have been cut since it was opened.
Digest ArtifactReader::stored_digest(const StoredComponent& component, std::uint64_t chunk) const {
  Digest digest;
  file_.read(data_start_ + index_bytes_ + sum_offset(component, chunk, plain_digests_), digest);
  return digest;
}

/// Digest of a chunk's bytes in the file.
Digest ArtifactReader::read_digest(const ChunkPlace& place, std::span<std::byte> buffer) const {
  Hasher hasher;
  for (std::uint64_t at = 0; at < place.size;) {
    const auto piece = buffer.first(std::min<std::uint64_t>(buffer.size(), place.size - at));
    file_.read(place.offset + at, piece);
    hasher.update(piece);
    at += piece.size();
  }
  return hasher.digest();
}

}  // namespace synps
