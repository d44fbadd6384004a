#include "stored_reader.h"

#include <fmt/format.h>

#include "synps/error.h"

namespace synps {
namespace {

bool same_component(const Component& a, const Component& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes &&
         a.per_weight == b.per_weight;
}

}  // namespace

const Codec* stored_codec(const CodecRegistry& codecs, const StoredWeight& weight,
                          const std::string& file) {
  if (weight.codec.is_keep()) return nullptr;
  const Codec* codec = codecs.find(weight.codec.package, weight.codec.name);
  if (codec != nullptr && codec->info().revision >= weight.codec.revision) return codec;
  Problem problem{.code = ErrorCode::package, .file = file, .field = weight.weight.path};
  if (codec == nullptr) {
    problem.what = fmt::format("no codec {} is known", quote(weight.codec.id()));
    problem.hint = fmt::format("load the package {}", quote(weight.codec.package));
  } else {
    problem.what = fmt::format("the codec {} is too old for this weight", weight.codec.id());
    problem.found = fmt::format("revision {}", codec->info().revision);
    problem.want = fmt::format("revision {}", weight.codec.revision);
  }
  throw Error(std::move(problem));
}

bool stored_as_source(const StoredWeight& weight) noexcept {
  if (weight.components.size() != 1) return false;
  const Component& component = weight.components.front().component;
  return component.name == "values" && component.dtype == weight.weight.dtype &&
         component.shape == weight.weight.shape &&
         component.bytes == component.shape.bytes(component.dtype);
}

StoredReader::StoredReader(const ArtifactReader& artifact, const StoredWeight& weight,
                           const Codec& codec)
    : artifact_(artifact), weight_(weight), codec_(codec) {
  check_components();
  buffers_.resize(weight.components.size());
  in_.resize(weight.components.size());
  for (std::size_t c = 0; c < weight.components.size(); ++c) {
    const StoredComponent& component = weight.components[c];
    if (!component.component.per_weight) continue;
    const std::span<std::byte> bytes = buffers_[c].take(component.component.bytes);
    artifact.file().read(artifact.file_offset(component), bytes);
    in_[c] = bytes;
  }
}

void StoredReader::check_components() const {
  Problem problem{.code = ErrorCode::artifact,
                  .file = artifact_.path(),
                  .what = fmt::format("not what {} stores", codec_.info().id()),
                  .field = weight_.weight.path};
  if (const Support support = codec_.supports(weight_.weight); !support.ok) {
    problem.found = support.reason;
    throw Error(std::move(problem));
  }
  const std::vector<Component> want = codec_.components(weight_.weight);
  bool same = want.size() == weight_.components.size();
  for (std::size_t c = 0; same && c < want.size(); ++c)
    same = same_component(want[c], weight_.components[c].component);
  if (!same) throw Error(std::move(problem));
}

void StoredReader::read(const Piece& piece, std::span<float> out) {
  for (std::size_t c = 0; c < in_.size(); ++c) {
    const StoredComponent& component = weight_.components[c];
    if (component.component.per_weight) continue;
    const ByteRange range = piece_bytes(codec_, c, piece);
    const std::span<std::byte> bytes = buffers_[c].take(range.size);
    artifact_.file().read(artifact_.file_offset(component) + range.begin, bytes);
    in_[c] = bytes;
  }
  codec_.decode(piece, in_, out);
}

}  // namespace synps
