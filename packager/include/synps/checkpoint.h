#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/companion_scale.h"
#include "synps/file.h"
#include "synps/gguf.h"
#include "synps/gguf_types.h"
#include "synps/weight.h"

namespace synps {

class ArtifactSet;
class Codec;
class CodecRegistry;
struct StoredWeight;

/// The scale that a checkpoint has for an 8-bit float weight: decoding the weight multiplies by it.
struct CompanionScale {
  std::size_t tensor = 0;  ///< index into Checkpoint::tensors()
  ScaleForm form = ScaleForm::tensor;
};

/// A tensor where a checkpoint stores it.
struct SourceTensor {
  /// Of packed blocks the dtype is F32, what they decode to; of an artifact's weight that of the
  /// weight, whatever it is stored in.
  Weight weight;
  /// How its values are stored: a dtype in lower case ("bf16"); `package:export` of the codec whose
  /// blocks they are ("q8_0:q8_0"); `gguf:TYPE` for GGUF blocks that no codec here decodes
  /// ("gguf:iq2_xxs"), and for a key-value (kGgufArray, kGgufString).
  std::string encoding;
  std::uint64_t block_elements = 1;  ///< a row is a whole number of blocks
  std::uint64_t block_bytes = 1;
  std::size_t file = 0;      ///< index into Checkpoint::files()
  std::uint64_t offset = 0;  ///< bytes from the start of that file
  std::uint64_t bytes = 0;
  std::size_t position = 0;               ///< GGUF: of its description among those of all files
  std::optional<CompanionScale> scale{};  ///< of a weight that has one
  std::optional<std::size_t> scale_of{};  ///< of a companion scale: the weight that it is for
  /// Name of the scheme of which it is a part, where its values mean something only together with
  /// others, in a way that nothing here decodes: "GPTQ", …; "" for most tensors. A literal.
  std::string_view packed_as{};
  /// Of an artifact's weight: how it is stored. Then `bytes` are the true bytes of all components,
  /// and a block is a row, or what a row may be cut into.
  const StoredWeight* stored = nullptr;

  /// Bytes of the first `elements` elements; of whole blocks, exactly.
  std::uint64_t bytes_of(std::uint64_t elements) const noexcept {
    return elements / block_elements * block_bytes +
           elements % block_elements * block_bytes / block_elements;
  }
};

/// Whether a dtype is an 8-bit float of values, which checkpoints scale.
bool is_float8(DType dtype) noexcept;

/// Whether a name is that of a scale for activations or caches ("input_scale", "k_scale", …), or of
/// the marker of scaled checkpoints ("scaled_fp8"): tensors that stand beside 8-bit weights and are
/// no companions of one.
bool is_activation_scale(std::string_view path) noexcept;

/// The weight that an artifact holds where nothing decodes the tensor: the same, but rows of bytes
/// for blocks that are no dtype's.
Weight kept_weight(const SourceTensor& tensor);

/// Encodings of values that are no weights: a GGUF key-value that is too large for an artifact's
/// metadata is a U8 tensor `gguf.KEY` of the bytes that GGUF has.
inline constexpr std::string_view kGgufArray = "gguf:array";
inline constexpr std::string_view kGgufString = "gguf:string";

/// Whether a source encoding is that of a key-value.
bool is_key_value_encoding(std::string_view encoding) noexcept;

/// The GGUF type of an encoding `gguf:TYPE`, or null.
const GgufType* gguf_type_of_encoding(std::string_view encoding) noexcept;

/// The type of a GGUF checkpoint's tensor. Throws Error(checkpoint) for what is none.
const GgufType& gguf_type_of(const SourceTensor& tensor);

class Checkpoint;

/// Tensors that must not be decoded one by one, and what is wrong. It counts unless a policy says
/// `keep` of all of them.
struct CheckpointFault {
  enum class Kind : std::uint8_t {
    scale_without_weight,  ///< named as the scale of a weight that is not there
    scale_of_other_dtype,  ///< of a weight that is no 8-bit float
    scale_dtype,           ///< the scale is of a dtype that no scale has
    scale_shape,           ///< its shape fits no form
    second_scale,          ///< the weight has another one, so that it is bound to neither
    packed,                ///< a module of a scheme that nothing here decodes
  };
  Kind kind = Kind::packed;
  std::string_view scheme{};  ///< of packed: its name, a literal
  /// Indices into Checkpoint::tensors(): of a scale's fault the scale, then the weight where there
  /// is one, then the other scale; of a packed module the one that holds the values first.
  std::vector<std::size_t> tensors{};
};

/// The problems of faults, one for all of the same kind and scheme. Not empty when `faults` are
/// not.
std::vector<Problem> fault_problems(const Checkpoint& checkpoint,
                                    const std::vector<const CheckpointFault*>& faults);

/// A key-value of a GGUF checkpoint, and where an artifact has it.
struct SourceKeyValue {
  enum class Carried : std::uint8_t {
    metadata,  ///< whole, in `__metadata__` under `gguf.KEY`
    entry,     ///< its bytes as a tensor `gguf.KEY`, its type in `__metadata__`
    dropped,   ///< not at all: it is about how the checkpoint is cut into files
  };
  GgufKeyValue value;
  std::size_t file = 0;  ///< index into Checkpoint::files()
  Carried carried = Carried::metadata;
};

/// A source of weights: one safetensors file, shards with an index, a Hugging Face folder, or a
/// GGUF file, also in parts; or an artifact.
class Checkpoint {
 public:
  /// `path` is one of
  /// - a safetensors file, also one shard of several: then just what that file holds;
  /// - a shard index, `*.index.json`, whose shards lie beside it;
  /// - a folder: of `model.safetensors`, `model.safetensors.index.json` and the only
  ///   `*.safetensors` in it, the first that exists; else of the only GGUF checkpoint. As Hugging
  ///   Face's transformers does, the single file goes before the index;
  /// - a GGUF file, known by its first bytes, and any part of several
  ///   (`NAME-00002-of-00003.gguf`), for all of them.
  ///
  /// Reads and validates every header, and no tensor data. The tensors of an index and of its
  /// shards must be the same. Throws Error(checkpoint) for a malformed source (all problems of a
  /// shard index together) and for a synps artifact; Error(io), Error(limit).
  static Checkpoint open(const std::string& path, Os& os = Os::posix());

  /// The weights of an artifact, as ArtifactSet opens it: one or in shards. A weight's encoding is
  /// what it is stored in, and of one that nothing decodes, what its source was. A scale that is
  /// not folded is bound to its weight. Nothing of the data is read, and checked: pack() does that.
  /// Throws also Error(package) for codecs that `codecs` lacks, and Error(artifact) for components
  /// that are not what their codec stores.
  static Checkpoint open_artifact(const std::string& path, const CodecRegistry& codecs,
                                  Os& os = Os::posix());

  const std::string& path() const noexcept { return path_; }
  /// By the bytes of the path.
  const std::vector<SourceTensor>& tensors() const noexcept { return tensors_; }
  /// `__metadata__` of all files. A key whose values agree wherever it stands is there once. One
  /// whose values differ between shards is there once a shard, as `KEY@SHARDFILE`, verbatim. Of
  /// GGUF files the key-values, as docs/format.md says.
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  /// GGUF only, in the file's order.
  const std::vector<SourceKeyValue>& key_values() const noexcept { return key_values_; }
  std::uint32_t gguf_version() const noexcept { return gguf_version_; }  ///< 0: no GGUF
  /// By the path of their first tensor, those of packed schemes first.
  const std::vector<CheckpointFault>& faults() const noexcept { return faults_; }
  const std::vector<InputFile>& files() const noexcept { return files_; }  ///< of an artifact none
  /// The artifact that this is; null for a checkpoint.
  const ArtifactSet* artifact() const noexcept { return artifact_.get(); }
  /// The file that a tensor is in.
  const InputFile& file_of(const SourceTensor& tensor) const;
  std::uint64_t file_bytes() const noexcept;  ///< of all files
  /// Everything that must not be overwritten: data files and the shard index.
  const std::vector<FileIdentity>& inputs() const noexcept { return inputs_; }
  std::uint64_t data_bytes() const noexcept;  ///< of all tensors

  /// Bytes of a tensor from `offset` in it. Not of an artifact's, which TensorReader reads. Throws
  /// Error(io).
  void read(const SourceTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const;
  /// Throws Error(checkpoint), or of an artifact Error(artifact), when a file changed since it was
  /// opened.
  void check_unchanged() const;

 private:
  void open_safetensors(const std::string& source, Os& os);
  void open_gguf(const std::string& source, Os& os);
  void add_stored(std::size_t number, const Codec* codec, const CodecRegistry& codecs);
  void bind_stored_scales();
  void add_key_values(std::vector<std::vector<GgufKeyValue>> of_files);
  void check_same(const SourceKeyValue& first, const GgufKeyValue& value, std::size_t file) const;
  void carry_key_values();

  std::string path_;
  std::vector<InputFile> files_;
  std::vector<FileIdentity> inputs_;
  std::vector<SourceTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<SourceKeyValue> key_values_;
  std::vector<CheckpointFault> faults_;
  std::uint32_t gguf_version_ = 0;
  std::shared_ptr<const ArtifactSet> artifact_;
};

}  // namespace synps
