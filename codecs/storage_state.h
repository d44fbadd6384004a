#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage_bytes.h"
#include "synps/artifact_index.h"
#include "synps/codec.h"
#include "synps/weight_storage.h"

namespace synps {

/// What a WeightStorage is. Of `stored` holds what an index would say of these bytes, as far as
/// that is about bytes: no entries, offsets and digests, and no padding.
struct StorageState {
  StoredWeight stored{};
  const Codec* codec = nullptr;
  std::shared_ptr<const StorageBytes> bytes{};
  SharedStorage scale{};  ///< the weight that stored.scale names, where it is at hand

  Order order() const noexcept { return stored.form.order; }
  CompressRequest compression() const noexcept { return stored.asked.compress; }
  bool compressed() const noexcept { return compression().method != Compression::none; }
  bool on_host() const noexcept { return stored.device == "local"; }
};

/// Gives `state.stored` its codec and components, in state.codec, state.order() and
/// state.compression(), cut into chunks. The codec supports the weight. Throws Error(limit),
/// Error(package).
void set_components(StorageState& state);

/// Whether a codec holds every value of this logical dtype, by types.
bool is_lossless(const Codec& codec, DType dtype) noexcept;

SharedStorage share(StorageState state);

}  // namespace synps
