#include "pack_output.h"

#include "gguf_output.h"
#include "pack_frames.h"
#include "synps/artifact_writer.h"

namespace synps {
namespace {

class ArtifactOutput final : public PackOutput {
 public:
  ArtifactOutput(const Plan& plan, AtomicFile& file) : plan_(plan), writer_(file, plan.layout) {}

  WeightWriter& writer() noexcept override { return writer_; }
  std::optional<ArtifactLayout> finish(unsigned most_workers, Progress& progress,
                                       PackTrace* trace) override {
    pack_frames(writer_, plan_.layout, most_workers, progress, trace);
    return writer_.finish();
  }
  const Digest* index_digest() const noexcept override { return &writer_.index_digest(); }

 private:
  const Plan& plan_;
  ArtifactWriter writer_;
};

}  // namespace

std::unique_ptr<PackOutput> make_pack_output(const Checkpoint& checkpoint, const Plan& plan,
                                             AtomicFile& file) {
  if (plan.gguf) return std::make_unique<GgufOutput>(checkpoint, plan, file);
  return std::make_unique<ArtifactOutput>(plan, file);
}

}  // namespace synps
