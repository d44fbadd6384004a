#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec_registry.h"
#include "synps/executor.h"
#include "synps/kernel.h"
#include "synps/memory_plan.h"
#include "synps/os.h"
#include "synps/profile.h"
#include "synps/trace.h"

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

/// What codecs, kernels and os point at must outlive the artifact, trace only the opening.
struct OpenOptions {
  Verification verification = Verification::first_use;
  const CodecRegistry* codecs = nullptr;  ///< null: the built-in ones
  Os* os = nullptr;                       ///< null: the operating system's

  /// What the device affords, which decides the forms that weights are loaded in. None: every
  /// weight as it is stored, on the heap or mapped as the artifact says; only what is compressed is
  /// inflated.
  std::optional<Profile> profile{};
  std::optional<std::uint64_t> budget{};    ///< bytes on the heap; none: the profile's
  bool allow_over_budget = false;           ///< load also what does not fit the budget
  std::vector<LoadOverride> overrides{};    ///< by path; with or without a profile
  const KernelRegistry* kernels = nullptr;  ///< null: the built-in ones. May be empty
  TraceSink* trace = nullptr;               ///< hears of conversions; null: nobody does
};

class Artifact;
class LoadedArtifact;
class WeightStorage;

/// A weight of an open artifact. Cheap to copy; valid as long as its Artifact (or a copy of it)
/// lives.
class WeightView {
 public:
  const std::string& path() const noexcept;
  const Shape& shape() const noexcept;
  DType dtype() const noexcept;  ///< logical dtype: the source's
  /// The form as loaded: `encoding` is what became of the stored bytes. What they were packed from
  /// is in stored().form.
  const WeightForm& form() const noexcept;
  const FormDecision& decision() const noexcept;  ///< the form, why, and what was converted
  const WeightMemory& memory() const noexcept;    ///< bytes that loading it took
  const StoredWeight& stored() const noexcept { return *stored_; }
  /// The codec of the stored bytes, or null when they are kept as the source had them and nothing
  /// here decodes them.
  const Codec* codec() const noexcept { return codec_; }

  /// Of the loaded form: what the codec stores, or, of a dequantized weight, `values` alone.
  std::size_t component_count() const noexcept;
  /// The bytes of a component as it was loaded, without padding: mapped, or on the heap; blocks in
  /// the order that form().order says; of a dequantized weight, f32 values. Zero-copy. Throws
  /// Error(artifact) when a checksum does not fit, Error(usage) for a component that does not
  /// exist.
  std::span<const std::byte> component(std::size_t i) const;
  std::span<const std::byte> component(std::string_view name) const;

  /// Decodes rows into `out`, which holds rows.count × shape().columns() values. Throws
  /// Error(usage) for rows that do not exist, an `out` of another size, or a weight that nothing
  /// decodes; Error(artifact) when a checksum does not fit; Error(package) when a codec package
  /// misbehaves.
  void decode(RowRange rows, std::span<float> out) const;
  /// All rows.
  std::vector<float> decode() const;

  /// The weight as it was loaded, to convert: weight_conversion.h. Copies nothing, and keeps the
  /// files open on its own.
  std::shared_ptr<const WeightStorage> storage() const;

  /// y = W x, as docs/kernels.md defines it to the bit: the result depends neither on the form that
  /// the weight was loaded in, nor on kernels, nor on threads. `x` has shape().columns() values and
  /// `y` shape().rows(); they do not overlap. Without an executor the calling thread does it all.
  /// Where no kernel reads the loaded form, rows are decoded in pieces of a bounded buffer. Throws
  /// Error(usage) for a weight that is no matrix (rank 2), of orientation in_out, or that nothing
  /// decodes, and for sizes that do not fit; and as decode().
  void matvec(std::span<const float> x, std::span<float> y, Executor* executor = nullptr) const;
  /// The same for some vectors at once: `x` is vectors × columns, `y` vectors × rows.
  void matmul(std::uint64_t vectors, std::span<const float> x, std::span<float> y,
              Executor* executor = nullptr) const;
  /// y = W x̂ with the activations rounded to 8 bits a block: faster, and less accurate. Throws
  /// Error(usage) also where no kernel does that with the loaded form.
  void matvec_q8(std::span<const float> x, std::span<float> y, Executor* executor = nullptr) const;
  /// The same for activations that were rounded before, in blocks of activation_block() elements.
  void matvec_q8(const ActivationView& x, std::span<float> y, Executor* executor = nullptr) const;
  /// Elements that share a scale in matvec_q8; 0 where there is no kernel for it.
  std::uint32_t activation_block() const;

 private:
  friend class Artifact;
  std::shared_ptr<const WeightStorage> numbers_storage(const StoredWeight& scale) const;
  const Kernel& q8_kernel() const;
  void check_matrix() const;
  void check_size(const char* name, std::size_t found, std::uint64_t vectors,
                  std::uint64_t each) const;

  std::shared_ptr<const LoadedArtifact> impl_;
  const StoredWeight* stored_ = nullptr;
  const Codec* codec_ = nullptr;
  std::size_t number_ = 0;
};

/// An artifact opened for use, in one file or in shards: maps the files, checks header and index,
/// decides the form of every weight, and loads those that are to be on the heap. Copies share the
/// mapping. All const functions may be called from any number of threads.
class Artifact {
 public:
  /// `path` is an artifact's file, its shard index, or a folder that holds one. Throws
  /// Error(artifact), Error(io); Error(package) when a weight's codec is not known, naming the
  /// package that is needed; Error(limit) for what does not fit the budget, or a strict profile
  /// refuses, before any byte of a weight is read.
  static Artifact open(const std::string& path, const OpenOptions& options = {});

  /// What each weight takes, decided before any of their bytes were read.
  const MemoryPlan& plan() const noexcept;

  /// Gives the memory back that the mapped bytes of volatile weights take, until they are read
  /// again, from the file. Nothing changes but time: it may be called while other threads read the
  /// weights, and spans stay valid. Throws Error(io) when the system refuses.
  void end_invocation() const;

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
  std::shared_ptr<const LoadedArtifact> impl_;
};

}  // namespace synps
