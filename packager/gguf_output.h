#pragma once

#include "pack_output.h"

namespace synps {

/// A GGUF file: tensors at planned places, padding of zeros between them, and a header.
class GgufOutput final : public PackOutput, private WeightWriter {
 public:
  GgufOutput(const Checkpoint& checkpoint, const Plan& plan, AtomicFile& file);

  WeightWriter& writer() noexcept override { return *this; }
  /// Throws Error(checkpoint) when the checkpoint changed before its key-values were copied.
  std::optional<ArtifactLayout> finish(unsigned most_workers, Progress& progress,
                                       PackTrace* trace) override;

 private:
  void write(std::size_t weight, std::size_t component, std::uint64_t offset,
             std::span<const std::byte> bytes) override;
  void read(std::size_t weight, std::size_t component, std::uint64_t offset,
            std::span<std::byte> out) const override;
  std::uint64_t shared_block_bytes() const noexcept override { return file_.shared_block_bytes(); }
  std::uint64_t share(std::size_t weight, std::size_t component, std::uint64_t offset,
                      const InputFile& from, std::uint64_t from_offset,
                      std::uint64_t size) override;
  std::uint64_t file_offset(std::size_t weight, std::size_t component,
                            std::uint64_t offset) const override;
  bool takes_digests() const noexcept override { return false; }
  void set_digest(std::size_t, std::size_t, std::uint64_t, const Digest&) override {}

  const Checkpoint& checkpoint_;
  const Plan& plan_;
  AtomicFile& file_;
};

}  // namespace synps
