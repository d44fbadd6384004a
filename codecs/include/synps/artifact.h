#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"
#include "synps/os.h"

namespace synps {

/// A range of rows of a weight: [first, first + count).
struct RowRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// When a component's checksums are compared.
enum class Verification : std::uint8_t {
  never,
  first_use,  ///< a component's chunks, when something first reads them
  all,        ///< the whole file, when it opens
};

struct OpenOptions {
  Verification verification = Verification::first_use;
  const CodecRegistry* codecs = nullptr;  ///< null: the built-in ones. Must outlive the artifact
  Os* os = nullptr;                       ///< null: the operating system's
};

class Artifact;

/// A weight of an open artifact. Cheap to copy; valid as long as its Artifact (or a copy of it)
/// lives.
class WeightView {
 public:
  const std::string& path() const noexcept;
  const Shape& shape() const noexcept;
  DType dtype() const noexcept;  ///< logical dtype: the source's
  const WeightForm& form() const noexcept;
  const StoredWeight& stored() const noexcept { return *stored_; }
  /// The codec of the stored bytes, or null when they are kept as the source had them and nothing
  /// here decodes them.
  const Codec* codec() const noexcept { return codec_; }

  std::size_t component_count() const noexcept;
  /// The stored bytes of a component, without padding: mapped, or on the heap where the form says
  /// so. Compressed components are always on the heap, inflated. Zero-copy. Throws Error(artifact)
  /// when a checksum does not fit, Error(usage) for a component that does not exist.
  std::span<const std::byte> component(std::size_t i) const;
  std::span<const std::byte> component(std::string_view name) const;

  /// Decodes rows into `out`, which holds rows.count × shape().columns() values. Throws
  /// Error(usage) for rows that do not exist, an `out` of another size, or a weight that nothing
  /// decodes; Error(artifact) when a checksum does not fit; Error(package) when a codec package
  /// misbehaves.
  void decode(RowRange rows, std::span<float> out) const;
  /// All rows.
  std::vector<float> decode() const;

 private:
  friend class Artifact;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
  const StoredWeight* stored_ = nullptr;
  const Codec* codec_ = nullptr;
  std::size_t number_ = 0;
};

/// An artifact opened for use, in one file or in shards: maps the files, checks header and index,
/// and reads weights from the stored bytes. Copies share the mapping. All const functions may be
/// called from any number of threads.
class Artifact {
 public:
  /// `path` is an artifact's file, its shard index, or a folder that holds one. Throws
  /// Error(artifact), Error(io); Error(package) when a weight's codec is not known, naming the
  /// package that is needed.
  static Artifact open(const std::string& path, const OpenOptions& options = {});

  std::size_t size() const noexcept;
  /// The i-th weight, by the bytes of the path.
  WeightView weight(std::size_t i) const;
  /// Throws Error(usage) when there is no such weight, naming the nearest.
  WeightView operator[](std::string_view path) const;
  bool contains(std::string_view path) const noexcept;

  /// The checkpoint's own metadata.
  std::map<std::string, std::string> metadata() const;
  /// Of shards the index of all: its digests are zeros, and places are those in each weight's file.
  const ArtifactIndex& index() const noexcept;

  class Iterator {
   public:
    using value_type = WeightView;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Artifact* artifact, std::size_t i) : artifact_(artifact), i_(i) {}
    WeightView operator*() const { return artifact_->weight(i_); }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++i_;
      return old;
    }
    bool operator==(const Iterator& other) const noexcept { return i_ == other.i_; }

   private:
    const Artifact* artifact_ = nullptr;
    std::size_t i_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  std::shared_ptr<const WeightView::Impl> impl_;
};

}  // namespace synps
