#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "gguf_parts.h"
#include "gguf_values.h"
#include "synps/artifact_layout.h"
#include "synps/checkpoint.h"
#include "synps/error.h"
#include "synps/gguf_types.h"
#include "synps/json_writer.h"

namespace synps {
namespace {

// What of the key-values an artifact has in its header, which readers parse whole: numbers, texts
// such as chat templates, short arrays. Vocabularies are entries of their own.
constexpr std::uint64_t kMostText = 1 << 16;  // bytes
constexpr std::uint64_t kMostArrayItems = 64;
constexpr std::uint64_t kMostArrayBytes = 1 << 12;
constexpr std::string_view kPrefix = "gguf.";

std::string prefixed(std::string_view name) {
  return fmt::format("{}{}", kPrefix, name);
}

std::string own_encoding(const GgufType& type) {
  std::string name(type.name);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return fmt::format("gguf:{}", name);
}

std::string encoding_of(const GgufType& type) {
  if (type.dtype) return std::string(encoding_name(*type.dtype));
  return type.codec.empty() ? own_encoding(type) : std::string(type.codec);
}

SourceTensor source_tensor(GgufTensor& tensor, std::size_t file) {
  const GgufType& type = *find_gguf_type(tensor.type);
  SourceTensor source;
  source.weight = {std::move(tensor.name), std::move(tensor.shape),
                   type.dtype.value_or(DType::f32)};
  source.encoding = encoding_of(type);
  source.block_elements = type.block_elements;
  source.block_bytes = type.block_bytes;
  source.file = file;
  source.offset = tensor.offset;
  source.bytes = tensor.bytes;
  return source;
}

SourceKeyValue::Carried how_carried(const GgufKeyValue& value) {
  if (is_gguf_split_key(value.key)) return SourceKeyValue::Carried::dropped;
  const bool is_small = value.type == GgufValueType::array
                            ? value.count <= kMostArrayItems && value.bytes <= kMostArrayBytes
                            : value.bytes <= kMostText;
  return is_small ? SourceKeyValue::Carried::metadata : SourceKeyValue::Carried::entry;
}

SourceTensor key_value_tensor(const SourceKeyValue& carried) {
  const GgufKeyValue& value = carried.value;
  SourceTensor tensor;
  tensor.weight = {prefixed(value.key), Shape({value.bytes}), DType::u8};
  tensor.encoding = value.type == GgufValueType::array ? kGgufArray : kGgufString;
  tensor.file = carried.file;
  tensor.offset = value.offset;
  tensor.bytes = value.bytes;
  return tensor;
}

/// What `__metadata__` says of a key-value: docs/format.md, "GGUF key-values".
std::string metadata_text(const SourceKeyValue& carried, GgufValueReader& reader) {
  const GgufKeyValue& value = carried.value;
  const bool is_array = value.type == GgufValueType::array;
  const bool is_entry = carried.carried == SourceKeyValue::Carried::entry;
  JsonWriter json;
  json.begin_object();
  if (is_array || is_entry) json.key("count").integer(value.count);
  if (is_entry) json.key("entry").string(prefixed(value.key));
  if (is_array) json.key("items").string(to_string(value.items));
  json.key("type").string(to_string(value.type));
  if (!is_entry) {
    json.key("value");
    reader.write(json, value);
  }
  json.end_object();
  return json.take();
}

/// Tensors, key-values among them, are sorted by path. Parts may have the same tensor, and a tensor
/// the name of a key-value's entry.
void check_paths(const std::vector<SourceTensor>& tensors, const std::vector<InputFile>& files) {
  const auto twice = std::adjacent_find(
      tensors.begin(), tensors.end(),
      [](const SourceTensor& a, const SourceTensor& b) { return a.weight.path == b.weight.path; });
  if (twice == tensors.end()) return;
  const SourceTensor& other = *(twice + 1);
  const bool is_key =
      is_key_value_encoding(twice->encoding) || is_key_value_encoding(other.encoding);
  throw Error({.code = ErrorCode::checkpoint,
               .file = files[other.file].path(),
               .what = is_key ? "a tensor has the name that a key-value gets in an artifact"
                              : "a tensor is in two parts",
               .field = "tensor " + quote(twice->weight.path),
               .found = is_key ? std::string() : "also in " + quote(files[twice->file].path())});
}

}  // namespace

bool is_key_value_encoding(std::string_view encoding) noexcept {
  return encoding == kGgufArray || encoding == kGgufString;
}

const GgufType* gguf_type_of_encoding(std::string_view encoding) noexcept {
  for (const GgufType& type : all_gguf_types())
    if (type.codec.empty() && !type.dtype && own_encoding(type) == encoding) return &type;
  return nullptr;
}

const GgufType& gguf_type_of(const SourceTensor& tensor) {
  for (const GgufType& type : all_gguf_types()) {
    if (type.removed) continue;
    if (type.dtype ? tensor.encoding == encoding_name(*type.dtype) : tensor.encoding == type.codec)
      return type;
  }
  if (const GgufType* type = gguf_type_of_encoding(tensor.encoding)) return *type;
  throw Error({.code = ErrorCode::checkpoint,
               .what = "an encoding that GGUF has no tensor type for",
               .field = "tensor " + quote(tensor.weight.path),
               .found = tensor.encoding});
}

/// The key-values of all parts. What two parts say alike is there once; `general.alignment` and the
/// `split.` keys are each part's own.
void Checkpoint::add_key_values(std::vector<std::vector<GgufKeyValue>> of_files) {
  std::size_t count = 0;
  for (const auto& values : of_files) count += values.size();
  key_values_.reserve(count);  // `known` refers to their keys
  std::map<std::string_view, std::size_t> known;
  for (std::size_t file = 0; file < of_files.size(); ++file)
    for (GgufKeyValue& value : of_files[file]) {
      if (const auto at = known.find(value.key); at != known.end()) {
        check_same(key_values_[at->second], value, file);
        continue;
      }
      const SourceKeyValue::Carried carried = how_carried(value);
      key_values_.push_back({std::move(value), file, carried});
      if (of_files.size() > 1) known.emplace(key_values_.back().value.key, key_values_.size() - 1);
    }
}

/// What two parts say under one key.
void Checkpoint::check_same(const SourceKeyValue& first, const GgufKeyValue& value,
                            std::size_t file) const {
  const bool own = is_gguf_split_key(value.key) || value.key == "general.alignment";
  if (own || same_gguf_value(files_[first.file], first.value, files_[file], value)) return;
  throw Error({.code = ErrorCode::checkpoint,
               .file = files_[file].path(),
               .what = "a key-value that differs between parts",
               .field = "key " + quote(value.key),
               .offset = value.offset,
               .want = "what " + quote(files_[first.file].path()) + " says"});
}

void Checkpoint::open_gguf(const std::string& source, Os& os) {
  std::vector<GgufPart> parts = open_gguf_parts(os, source);
  gguf_version_ = parts.front().header.version;
  std::vector<std::vector<GgufKeyValue>> key_values;
  files_.reserve(parts.size());
  for (GgufPart& part : parts) {
    for (GgufTensor& tensor : part.header.tensors) {
      const std::size_t position = tensors_.size();
      tensors_.push_back(source_tensor(tensor, files_.size()));
      tensors_.back().position = position;
    }
    key_values.push_back(std::move(part.header.key_values));
    inputs_.push_back(part.file.identity());
    files_.push_back(std::move(part.file));
  }
  add_key_values(std::move(key_values));
  carry_key_values();
  std::sort(tensors_.begin(), tensors_.end(), [](const SourceTensor& a, const SourceTensor& b) {
    return a.weight.path < b.weight.path;
  });
  check_paths(tensors_, files_);
}

/// Makes metadata and tensors of the key-values.
void Checkpoint::carry_key_values() {
  metadata_.emplace("gguf", fmt::format("{}", gguf_version_));
  std::uint64_t bytes = 0;
  std::size_t file = 0;
  auto reader = std::make_unique<GgufValueReader>(files_.front());
  for (const SourceKeyValue& carried : key_values_) {
    if (carried.carried == SourceKeyValue::Carried::dropped) continue;
    if (carried.file != file) {
      file = carried.file;
      reader = std::make_unique<GgufValueReader>(files_[file]);
    }
    if (carried.carried == SourceKeyValue::Carried::entry)
      tensors_.push_back(key_value_tensor(carried));
    std::string text = metadata_text(carried, *reader);
    bytes += carried.value.key.size() + text.size();
    if (bytes > kMaxHeaderBytes)
      throw Error({.code = ErrorCode::limit,
                   .file = files_[file].path(),
                   .what = "more key-values than the header of an artifact holds",
                   .want = fmt::format("at most {} bytes of them", kMaxHeaderBytes)});
    metadata_.emplace(prefixed(carried.value.key), std::move(text));
  }
}

}  // namespace synps
