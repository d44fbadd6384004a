#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chunk_checks.h"
#include "heap_bytes.h"
#include "product_kernels.h"
#include "synps/artifact.h"
#include "synps/artifact_set.h"
#include "synps/memory_plan.h"
#include "synps/row_order.h"

namespace synps {

/// An artifact as it is in this process: the files, and where the bytes of every weight are. All
/// const functions may be called from any number of threads. Weights are named by number, which is
/// below size().
class LoadedArtifact {
 public:
  LoadedArtifact(const std::string& path, const OpenOptions& options);

  const std::string& path() const noexcept { return files_.path(); }
  const ArtifactSet& files() const noexcept { return files_; }
  const MemoryPlan& plan() const noexcept { return plan_; }
  const KernelRegistry& kernels() const noexcept { return kernels_; }

  std::size_t size() const noexcept { return weights_.size(); }
  const StoredWeight& stored(std::size_t i) const noexcept { return files_.index().weights[i]; }
  const PlannedLoad& planned(std::size_t i) const noexcept { return plan_.weights[i]; }
  const Codec* codec(std::size_t i) const noexcept { return weights_[i].codec; }

  std::size_t component_count(std::size_t i) const noexcept;
  const std::string& component_name(std::size_t i, std::size_t c) const noexcept;
  /// All bytes of a component of the loaded form. Throws Error(artifact), Error(io).
  std::span<const std::byte> component(std::size_t i, std::size_t c) const;
  /// Rows that exist, of a weight with a codec, into `out`, which has their size.
  void decode(std::size_t i, RowRange rows, std::span<float> out) const;
  /// A weight of rank 2. Throws Error(artifact), Error(io).
  StoredMatrix matrix(std::size_t i) const;
  const WeightKernels& kernels_of(std::size_t i) const;
  const Kernel& f32_matmul() const;

  void end_invocation() const;

 private:
  struct Weight {
    const Codec* codec = nullptr;  ///< of the stored bytes
    std::size_t first = 0;         ///< number of its first component
    HeapBytes heap{};              ///< null: its components are mapped
  };

  void make_plan(const OpenOptions& options);
  void load(const OpenOptions& options);
  void find_volatile_pages();
  const ProductKernels& product_kernels() const;
  void check(std::size_t i, std::size_t c, std::uint64_t begin, std::uint64_t end) const;
  void check_rows(std::size_t i, std::size_t c, const RowBlocks& shape, RowRange rows) const;

  Os& os_;
  ArtifactSet files_;
  const CodecRegistry& codecs_;
  const KernelRegistry& kernels_;
  MemoryPlan plan_;
  std::vector<Weight> weights_;                         ///< in the order of the index
  std::vector<std::span<const std::byte>> components_;  ///< true bytes, by number
  ChunkChecks checks_;
  std::vector<std::span<const std::byte>> volatile_pages_;  ///< mapped, adjacent ones joined
  mutable std::once_flag kernels_once_;
  mutable std::unique_ptr<const ProductKernels> product_kernels_;
};

}  // namespace synps
