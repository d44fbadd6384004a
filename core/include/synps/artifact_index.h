#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec.h"
#include "synps/companion_scale.h"
#include "synps/form.h"
#include "synps/hash.h"
#include "synps/scheme.h"
#include "synps/shared_list.h"
#include "synps/weight.h"

namespace synps {

/// The artifact's format version. Version 1 is frozen: what docs/format.md says of it never
/// changes, and every later synps reads it.
inline constexpr std::uint64_t kArtifactVersion = 1;

inline constexpr std::string_view kIndexEntry = "__synps__";
inline constexpr std::string_view kSumsEntry = "__synps_sums__";

/// Which policy decided a key, by its pattern (never by line: moving lines must not change bytes).
struct Decision {
  std::string key{};      ///< "format", "dtype", "form.order", …
  std::string pattern{};  ///< of the policy that decided

  bool operator==(const Decision&) const = default;
};

/// A component as an artifact stores it.
struct StoredComponent {
  Component component{};
  std::string entry{};  ///< name of its safetensors entry
  Order order = Order::rows1;
  Compression compression = Compression::none;
  std::uint64_t offset = 0;        ///< bytes, from the start of the data section
  std::uint64_t stored_bytes = 0;  ///< bytes of the entry: with zero padding, or of all frames
  std::uint64_t chunk_rows = 0;    ///< rows of the weight in a full chunk
  std::uint64_t chunk_bytes = 0;   ///< true bytes of a full chunk; the last one ends the entry
  std::uint64_t first_digest = 0;  ///< index of its first chunk's digest in __synps_sums__

  bool compressed() const noexcept { return compression != Compression::none; }
  /// Chunks the entry has: none for an entry without bytes.
  std::uint64_t chunks() const noexcept;
  /// Byte range of chunk `i`: in the entry, the last one with the padding; of a compressed
  /// component, in its true bytes.
  std::uint64_t chunk_begin(std::uint64_t i) const noexcept { return i * chunk_bytes; }
  std::uint64_t chunk_end(std::uint64_t i) const noexcept;
};

/// Which codec's bytes a weight's components hold. An empty package means `keep`: stored as the
/// source had it, with no codec to decode it.
struct CodecRef {
  std::string package{};
  std::string name{};
  unsigned revision = 0;

  static CodecRef keep() { return {"", "keep", 0}; }
  static CodecRef of(const CodecInfo& info) { return {info.package, info.name, info.revision}; }
  bool is_keep() const noexcept { return package.empty(); }
  std::string id() const { return is_keep() ? name : package + ":" + name; }
  bool operator==(const CodecRef&) const = default;
};

/// Everything an artifact says about one weight.
struct StoredWeight {
  Weight weight{};
  std::string source{};   ///< source encoding ("bf16", "i64", …)
  std::string compute{};  ///< dtype the graph computes in ("f32"); "" for non-floats
  CodecRef codec{};
  bool lossless = true;  ///< by types: every value of the source encoding survives
  /// Encodings that rounded values on their way from the source's to the codec's, oldest first;
  /// what the codec itself rounded is not in it (stored_step_rounded()). Empty for what was packed
  /// from a checkpoint.
  std::vector<CodecRef> history{};
  FormRequest asked{};                 ///< what the policy asked of the form
  WeightForm form{};                   ///< what it became
  std::optional<Scheme> scheme{};      ///< none for weights that need no scheme
  std::optional<StoredScale> scale{};  ///< none where the checkpoint has none for it
  std::string device = "local";
  SharedList<Decision> decisions{};  ///< by key
  std::vector<StoredComponent> components{};
};

/// A scheme that a policy has for values that are not constants (inputs, caches, activations), for
/// runtimes that allocate them.
struct ValueScheme {
  std::string pattern{};  ///< of the policy
  Scheme scheme{};

  bool operator==(const ValueScheme&) const = default;
};

/// The content of `__synps__`.
struct ArtifactIndex {
  std::uint64_t version = kArtifactVersion;
  Digest header{};     ///< of the length field and the header, the digits of synps.index as zeros
  Digest sums{};       ///< of __synps_sums__, padding included
  std::string zstd{};  ///< version that made the frames; "" where nothing is compressed
  /// The first that covers a path and claims a value is the one that holds for it.
  std::vector<ValueScheme> values{};
  std::vector<StoredWeight> weights{};  ///< by the bytes of the path

  /// Of all components, padding included.
  std::uint64_t stored_bytes() const noexcept;
  bool has_compressed() const noexcept;
};

/// Canonical JSON, not padded. Its length depends neither on the digests' values nor on the places
/// and stored sizes of compressed components.
std::string to_json(const ArtifactIndex& index);
/// The same with another digest of the sums.
std::string to_json(const ArtifactIndex& index, const Digest& sums);

/// The reverse. Throws Error(artifact), naming `file` and the field, for anything that to_json
/// does not write: unknown or missing fields, numbers out of range, references to nothing, weights
/// out of order, an unknown version.
ArtifactIndex parse_index(std::string_view json, const std::string& file);

}  // namespace synps
