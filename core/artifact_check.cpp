// ArtifactReader::check_all: everything that can be said about an artifact's bytes.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "artifact_place.h"
#include "synps/artifact_layout.h"
#include "synps/artifact_reader.h"
#include "synps/checked.h"
#include "synps/component_reader.h"
#include "synps/parallel.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

Problem problem(const ArtifactReader& reader, std::string what, std::string field) {
  return {.code = ErrorCode::artifact,
          .file = reader.path(),
          .what = std::move(what),
          .field = std::move(field),
          .hint = "the file is damaged; make or copy it again"};
}

bool all_zeros(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{}; });
}

/// Calls `take` with [begin, end) of the file in pieces that fit `buffer`.
template <typename Take>
void read_pieces(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                 std::vector<std::byte>& buffer, const Take& take) {
  while (begin < end) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - begin));
    file.read(begin, piece);
    take(std::span<const std::byte>(piece));
    begin += piece.size();
  }
}

/// What a thread keeps while it looks at chunks.
struct ChunkChecker {
  explicit ChunkChecker(const ArtifactReader& reader) : buffer(kPieceBytes), inflater(reader) {}

  std::vector<std::byte> buffer;
  ComponentReader inflater;
};

/// Why the weight's padded sizes and chunks are not the format's; empty when they are.
std::string size_fault(const StoredWeight& weight, const CodecRegistry& codecs) {
  StoredWeight sized = weight;
  try {
    set_sizes(sized, CodecRowBytes(codecs));
  } catch (const Error& error) {
    return error.problems().front().what;
  }
  const bool same = std::equal(
      sized.components.begin(), sized.components.end(), weight.components.begin(),
      [](const StoredComponent& wanted, const StoredComponent& found) {
        // Of frames only the most that they take follows from the weight.
        const bool stored = found.compressed() ? found.stored_bytes <= wanted.stored_bytes
                                               : found.stored_bytes == wanted.stored_bytes;
        return stored && found.chunk_rows == wanted.chunk_rows &&
               found.chunk_bytes == wanted.chunk_bytes;
      });
  return same ? "" : "its padding or its chunks are not the format's";
}

/// The header that index and metadata imply; empty when there can be none.
std::string implied_header(const ArtifactLayout& layout, const Digest& index_digest) {
  try {
    return render_header(layout, index_digest);
  } catch (const Error&) {
    return {};
  }
}

/// What to_json does not settle: the sequence of lists that the layout sorts.
bool lists_are_sorted(const ArtifactIndex& index) {
  ArtifactIndex sorted = index;
  sort_lists(sorted);
  return std::equal(
      index.weights.begin(), index.weights.end(), sorted.weights.begin(),
      [](const StoredWeight& a, const StoredWeight& b) { return a.decisions == b.decisions; });
}

}  // namespace

/// The header must be exactly what index and metadata imply.
void ArtifactReader::check_header(std::vector<Problem>& problems) const {
  const auto format = metadata_.find("format");
  if (needs_synps(index_.weights) && (format == metadata_.end() || format->second != "synps"))
    problems.push_back(problem(*this, "the format is not 'synps', though weights are packed",
                               "__metadata__.format"));
  ArtifactLayout layout;
  layout.index = index_;
  layout.metadata = metadata_;
  layout.index_bytes = index_bytes_;
  layout.sums_bytes = sums_bytes_;
  const std::string expected = implied_header(layout, index_digest_);
  std::vector<std::byte> found(data_start_);
  file_.read(0, found);
  const auto bytes = std::as_bytes(std::span(expected));
  if (std::equal(found.begin(), found.end(), bytes.begin(), bytes.end())) return;
  problems.push_back(problem(*this, "the header is not what the index implies", "header"));
}

/// Entries must have the names and lie where the format puts them, without hole or overlap.
void ArtifactReader::check_placement(std::vector<Problem>& problems) const {
  ArtifactIndex placed = index_;
  number_digests(placed);
  place_components(placed, index_bytes_ + sums_bytes_);
  if (checked_round_up(sums_used(placed), kPageAlignment) != sums_bytes_)
    problems.push_back(problem(*this, "the list of digests is not as long as its chunks need",
                               std::string(kSumsEntry)));
  for (const std::string& name : unusable_entry_names(index_))
    problems.push_back(problem(*this, "the entry's name is reserved or taken twice", name));
  for (std::size_t w = 0; w < index_.weights.size(); ++w)
    for (std::size_t c = 0; c < index_.weights[w].components.size(); ++c) {
      const StoredComponent& found = index_.weights[w].components[c];
      const StoredComponent& wanted = placed.weights[w].components[c];
      if (found.offset != wanted.offset || found.first_digest != wanted.first_digest ||
          found.entry != entry_name(index_.weights[w], found))
        problems.push_back(
            problem(*this, "the entry's name or place is not the format's", found.entry));
    }
}

void ArtifactReader::check_codecs(const CodecRegistry& codecs,
                                  std::vector<Problem>& problems) const {
  for (const StoredWeight& weight : index_.weights) {
    const Codec* codec = stored_codec(codecs, weight);
    if (codec == nullptr && !weight.codec.is_keep()) continue;  // nothing here knows better
    std::string fault = component_fault(weight, codec);
    if (fault.empty()) fault = size_fault(weight, codecs);
    if (!fault.empty()) problems.push_back(problem(*this, std::move(fault), weight.weight.path));
  }
}

/// Padding is zeros in entries, spaces after the index.
void ArtifactReader::check_padding(std::vector<Problem>& problems) const {
  std::vector<std::byte> buffer(kPieceBytes);
  for (const StoredWeight& weight : index_.weights)
    for (const StoredComponent& stored : weight.components) {
      if (stored.compressed()) continue;
      bool clean = true;
      const std::uint64_t start = file_offset(stored);
      read_pieces(file_, start + stored.component.bytes, start + stored.stored_bytes, buffer,
                  [&](std::span<const std::byte> piece) { clean = clean && all_zeros(piece); });
      if (!clean) problems.push_back(problem(*this, "the padding is not zeros", stored.entry));
    }
}

void ArtifactReader::check_sums(unsigned jobs, const std::function<void(std::uint64_t)>& progress,
                                std::vector<Problem>& problems) const {
  std::vector<std::byte> sums(sums_bytes_);
  file_.read(data_start_ + index_bytes_, sums);
  if (xxh3_128(sums) != index_.sums) {
    problems.push_back(
        problem(*this, "the digests do not fit their own digest", std::string(kSumsEntry)));
    return;  // what they say about chunks is worth nothing
  }
  const std::vector<ComponentNumber> order = in_data_order(index_);
  check_chunks(jobs, progress, order, problems);
  std::uint64_t used = 0;
  for (const ComponentNumber number : order) {
    const StoredComponent& stored = number.in(index_);
    used = std::max(used, sum_offset(stored, stored.chunks(), plain_digests_));
  }
  if (!all_zeros(std::span<const std::byte>(sums).subspan(used)))
    problems.push_back(problem(*this, "the padding is not zeros", std::string(kSumsEntry)));
}

/// Compares every chunk with its digest, and inflates it where it is compressed; problems are added
/// in data order.
void ArtifactReader::check_chunks(unsigned jobs, const std::function<void(std::uint64_t)>& progress,
                                  const std::vector<ComponentNumber>& order,
                                  std::vector<Problem>& problems) const {
  std::vector<std::uint64_t> ends;  // chunks of all components up to and including this one
  ends.reserve(order.size());
  for (const ComponentNumber number : order)
    ends.push_back((ends.empty() ? 0 : ends.back()) + number.in(index_).chunks());
  const std::uint64_t chunks = ends.empty() ? 0 : ends.back();

  std::vector<ChunkChecker> checkers;
  for (unsigned i = worker_count(jobs, chunks); i > 0; --i) checkers.emplace_back(*this);
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<Problem>> damage;  // by chunk, under the mutex
  run_parallel(static_cast<unsigned>(checkers.size()), chunks,
               [&](unsigned worker, std::uint64_t i) {
                 const auto end = std::upper_bound(ends.begin(), ends.end(), i);
                 const ComponentNumber number = order[static_cast<std::size_t>(end - ends.begin())];
                 const StoredWeight& weight = index_.weights[number.weight];
                 const StoredComponent& stored = number.in(index_);
                 const std::uint64_t chunk = i - (*end - stored.chunks());
                 ChunkChecker& checker = checkers[worker];
                 std::uint64_t size = 0;
                 try {
                   size = place_of(weight, stored, chunk).size;
                   read_and_check_chunk(weight, stored, chunk, checker.buffer);
                   if (stored.compressed()) checker.inflater.check_frame(weight, stored, chunk);
                 } catch (const Error& error) {
                   if (error.code() != ErrorCode::artifact) throw;
                   const std::lock_guard lock(mutex);
                   damage.emplace(i, error.problems());
                 }
                 if (progress) progress(size);
               });
  for (auto& [chunk, found] : damage) problems.insert(problems.end(), found.begin(), found.end());
}

std::vector<Problem> ArtifactReader::check_values(
    const std::function<void(std::uint64_t)>& progress, unsigned jobs) const {
  std::vector<Problem> problems;
  check_sums(jobs, progress, problems);
  return problems;
}

std::vector<Problem> ArtifactReader::check_all(const CodecRegistry* codecs,
                                               const std::function<void(std::uint64_t)>& progress,
                                               unsigned jobs) const {
  std::vector<Problem> problems;
  std::vector<std::byte> index(index_bytes_);
  file_.read(data_start_, index);
  std::string canonical = to_json(index_);
  canonical.resize(*checked_round_up(canonical.size(), kPageAlignment), ' ');
  const auto bytes = std::as_bytes(std::span(canonical));
  if (!std::equal(index.begin(), index.end(), bytes.begin(), bytes.end()) ||
      !lists_are_sorted(index_))
    problems.push_back(problem(*this, "the index is not canonical", std::string(kIndexEntry)));
  check_header(problems);
  check_placement(problems);
  if (codecs != nullptr) check_codecs(*codecs, problems);
  check_padding(problems);
  if (progress) progress(data_start_ + index_bytes_ + sums_bytes_);
  check_sums(jobs, progress, problems);
  return problems;
}

}  // namespace synps
