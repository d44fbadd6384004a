#include "synps/unpack.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "buffer.h"
#include "pieces.h"
#include "progress.h"
#include "safetensors_output.h"
#include "source_reader.h"
#include "stored_reader.h"
#include "synps/artifact_set.h"
#include "synps/codec_package.h"
#include "synps/component_reader.h"
#include "synps/stored_codec.h"

namespace synps {
namespace {

/// How a weight comes back.
struct UnpackedWeight {
  const ArtifactReader* file = nullptr;  ///< that holds it
  const StoredWeight* stored = nullptr;
  const Codec* codec = nullptr;  ///< decodes; null when the stored bytes are written as they are
  const Codec* dense = nullptr;  ///< encodes the values in the dtype they are written in
};

[[noreturn]] void cannot_decode(const ArtifactReader& artifact, const StoredWeight& stored,
                                std::string what) {
  throw Error({.code = ErrorCode::artifact,
               .file = artifact.path(),
               .what = std::move(what),
               .field = stored.weight.path,
               .found = stored.codec.id()});
}

/// The source dtype where the codec holds each of its values, else f32, which holds every value
/// that any codec decodes to.
UnpackedWeight plan_weight(const ArtifactReader& artifact, const StoredWeight& stored,
                           const CodecRegistry& codecs) {
  if (stored_as_source(stored)) return {&artifact, &stored, nullptr, nullptr};
  const Codec* codec = require_stored_codec(codecs, stored, artifact.path());
  if (codec == nullptr) cannot_decode(artifact, stored, "nothing decodes this weight");
  const DType source = stored.weight.dtype;
  const bool lossless = stored.lossless && codec->info().stores_exactly(source);
  const Codec* dense = lossless ? codecs.for_dtype(source) : nullptr;
  if (dense == nullptr || !dense->info().encodes) dense = codecs.for_dtype(DType::f32);
  if (dense == nullptr) cannot_decode(artifact, stored, "no codec writes f32");
  return {&artifact, &stored, codec, dense};
}

class Unpacker {
 public:
  Unpacker(const ArtifactSet& artifact, const CodecRegistry& codecs,
           const UnpackOptions& options, const std::string& output)
      : artifact_(artifact), options_(options) {
    for (std::size_t i = 0; i < artifact.index().weights.size(); ++i)
      add(artifact.file_of(i), artifact.index().weights[i], codecs);
    layout_ = lay_out_safetensors(entries_, artifact.source_metadata(), output);
  }

  void write(AtomicFile& file);
  UnpackReport report() const { return {layout_.file_bytes, widened_}; }

 private:
  void add(const ArtifactReader& artifact, const StoredWeight& stored, const CodecRegistry& codecs);
  void check(const UnpackedWeight& weight, Progress& progress);
  void write_bytes(AtomicFile& file, const UnpackedWeight& weight, std::uint64_t begin,
                   Progress& progress);
  void write_values(AtomicFile& file, const UnpackedWeight& weight, std::uint64_t begin,
                    Progress& progress);
  void check_kept(const UnpackedWeight& weight, const Piece& piece, std::span<const float> values,
                  std::span<const std::byte> bytes);

  const ArtifactSet& artifact_;
  const UnpackOptions& options_;
  std::vector<UnpackedWeight> weights_;
  std::vector<SafetensorsEntry> entries_;  ///< one a weight
  SafetensorsLayout layout_;
  std::vector<std::string> widened_;
  Buffer<std::byte> bytes_;
  Buffer<float> values_;
  Buffer<float> kept_;
};

void Unpacker::add(const ArtifactReader& artifact, const StoredWeight& stored,
                   const CodecRegistry& codecs) {
  const UnpackedWeight weight = plan_weight(artifact, stored, codecs);
  const DType dtype =
      weight.dense != nullptr ? *weight.dense->info().dense_dtype : stored.weight.dtype;
  if (dtype != stored.weight.dtype) widened_.push_back(stored.weight.path);
  weights_.push_back(weight);
  entries_.push_back({stored.weight.path, dtype, stored.weight.shape, 0, 0});
}

void Unpacker::write(AtomicFile& file) {
  const std::uint64_t data_bytes = layout_.file_bytes - layout_.header.size();
  Progress progress(options_.progress, data_bytes + artifact_.index().stored_bytes());
  file.allocate(layout_.file_bytes);
  file.write(0, std::as_bytes(std::span<const char>(layout_.header)));
  for (const std::size_t i : layout_.order) {
    const std::uint64_t begin = layout_.header.size() + entries_[i].begin;
    check(weights_[i], progress);
    if (weights_[i].codec == nullptr)
      write_bytes(file, weights_[i], begin, progress);
    else
      write_values(file, weights_[i], begin, progress);
  }
}

/// Damaged bytes are never unpacked.
void Unpacker::check(const UnpackedWeight& weight, Progress& progress) {
  const StoredWeight& stored = *weight.stored;
  const std::span<std::byte> buffer = bytes_.take(kCopyBytes);
  for (const StoredComponent& component : stored.components)
    for (std::uint64_t chunk = 0; chunk < component.chunks(); ++chunk) {
      weight.file->read_and_check_chunk(stored, component, chunk, buffer);
      progress.advance(weight.file->place_of(stored, component, chunk).size);
    }
}

void Unpacker::write_bytes(AtomicFile& file, const UnpackedWeight& weight, std::uint64_t begin,
                           Progress& progress) {
  const StoredWeight& stored = *weight.stored;
  const StoredComponent& component = stored.components.front();
  ComponentReader reader(*weight.file);
  for (std::uint64_t at = 0; at < component.component.bytes;) {
    const std::span<std::byte> bytes =
        bytes_.take(std::min(kCopyBytes, component.component.bytes - at));
    reader.read(stored, component, at, bytes);
    file.write(begin + at, bytes);
    at += bytes.size();
    progress.advance(bytes.size());
  }
}

void Unpacker::write_values(AtomicFile& file, const UnpackedWeight& weight, std::uint64_t begin,
                            Progress& progress) {
  const StoredWeight& stored = *weight.stored;
  const DType dtype = *weight.dense->info().dense_dtype;
  StoredReader reader(*weight.file, stored, *weight.codec);
  const std::uint64_t elements = stored.weight.shape.elements();
  for (std::uint64_t at = 0; at < elements;) {
    const Piece piece = next_piece(stored.weight, at, elements, weight.codec->row_granule());
    const std::span<float> values = values_.take(piece.elements());
    reader.read(piece, values);
    const std::span<std::byte> bytes = bytes_.take(dense_bytes(dtype, piece.elements()));
    const std::span<std::byte> out[] = {bytes};
    ValueReport exact_by_construction;
    weight.dense->encode(piece, values, nullptr, out, exact_by_construction);
    // That a package's codec stores a dtype exactly is what the package says.
    if (!weight.codec->info().file.empty() && dtype != DType::f32)
      check_kept(weight, piece, values, bytes);
    file.write(begin + dense_bytes(dtype, at), bytes);
    at += piece.elements();
    progress.advance(bytes.size());
  }
}

/// Nothing is rounded: what was written must be what was decoded.
void Unpacker::check_kept(const UnpackedWeight& weight, const Piece& piece,
                          std::span<const float> values, std::span<const std::byte> bytes) {
  const std::span<float> kept = kept_.take(values.size());
  const std::span<const std::byte> in[] = {bytes};
  weight.dense->decode(piece, in, kept);
  const auto same = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  };
  const auto [value, other] = std::mismatch(values.begin(), values.end(), kept.begin(), same);
  if (value == values.end()) return;
  const auto at = piece.first_element + static_cast<std::uint64_t>(value - values.begin());
  throw_codec_fault(weight.codec->info(), weight.stored->weight.path,
                    "decode gives a value that the source's dtype does not hold, and the codec "
                    "claims to store that dtype exactly",
                    fmt::format("{} at element {}", *value, at),
                    std::string(dtype_name(*weight.dense->info().dense_dtype)));
}

void check_unchanged(const ArtifactSet& artifact) {
  try {
    for (const auto& file : artifact.files()) file->file().check_unchanged();
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      if (problem.code == ErrorCode::checkpoint) problem.code = ErrorCode::artifact;
    throw Error(std::move(problems));
  }
}

}  // namespace

UnpackReport unpack(const std::string& artifact, const std::string& output,
                    const CodecRegistry& codecs, const UnpackOptions& options, Os& os) {
  const ArtifactSet reader(artifact, os);
  if (auto missing = missing_codecs(artifact, reader.index().weights, codecs); !missing.empty())
    throw Error(std::move(missing));
  Unpacker unpacker(reader, codecs, options, output);
  AtomicFile::Options file_options{.replace = options.replace, .inputs = options.protected_files};
  for (const FileIdentity& input : reader.inputs()) file_options.inputs.push_back(input);
  AtomicFile file(os, output, std::move(file_options));
  unpacker.write(file);
  check_unchanged(reader);
  file.commit();
  return unpacker.report();
}

}  // namespace synps
