#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace synps::testing {

/// Numbers in a GGUF file are little-endian, as memory is wherever these tests run.
template <typename T>
std::string le(T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

/// A length of 64 bits and the text.
inline std::string gguf_text(std::string_view text) {
  std::string out = le<std::uint64_t>(text.size());
  out += text;
  return out;
}

/// Value types and tensor types by the numbers that a file holds.
namespace gguf {
constexpr std::uint32_t kUint8 = 0, kInt8 = 1, kUint16 = 2, kInt16 = 3, kUint32 = 4, kInt32 = 5,
                        kFloat32 = 6, kBool = 7, kString = 8, kArray = 9, kUint64 = 10, kInt64 = 11,
                        kFloat64 = 12;
constexpr std::uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 8, kIQ2_XXS = 16, kI8 = 24,
                        kI32 = 26, kBF16 = 30, kTQ2_0 = 35;
}  // namespace gguf

/// Builds GGUF files, sound ones unless told otherwise: tensors lie in the order of tensor(), each
/// at the next multiple of the alignment.
class GgufBuilder {
 public:
  /// A value of any type, its bytes as they are.
  GgufBuilder& value(std::string_view key, std::uint32_t type, std::string_view bytes) {
    keys_ += gguf_text(key);
    keys_ += le(type);
    keys_ += bytes;
    ++key_count_;
    return *this;
  }
  GgufBuilder& text(std::string_view key, std::string_view value_text) {
    return value(key, gguf::kString, gguf_text(value_text));
  }
  GgufBuilder& u32(std::string_view key, std::uint32_t number) {
    return value(key, gguf::kUint32, le(number));
  }
  GgufBuilder& array(std::string_view key, std::uint32_t items, std::uint64_t count,
                     std::string_view bytes) {
    return value(key, gguf::kArray, array_bytes(items, count, bytes));
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& items) {
    std::string bytes;
    for (const std::string& item : items) bytes += gguf_text(item);
    return array(key, gguf::kString, items.size(), bytes);
  }
  static std::string array_bytes(std::uint32_t items, std::uint64_t count, std::string_view bytes) {
    std::string out = le(items);
    out += le(count);
    out += bytes;
    return out;
  }

  /// `ne` as GGUF has it: the row length first.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& ne,
                      std::uint32_t type, std::string_view bytes) {
    describe(name, ne, type, data_.size());
    data_ += bytes;
    last_bytes_ = data_.size();
    data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_, '\0');
    return *this;
  }
  /// A description alone, whatever it says.
  GgufBuilder& describe(std::string_view name, const std::vector<std::uint64_t>& ne,
                        std::uint32_t type, std::uint64_t offset) {
    tensors_ += gguf_text(name);
    tensors_ += le(static_cast<std::uint32_t>(ne.size()));
    for (const std::uint64_t extent : ne) tensors_ += le(extent);
    tensors_ += le(type);
    tensors_ += le(offset);
    ++tensor_count_;
    return *this;
  }
  GgufBuilder& data(std::string_view bytes) {
    data_ += bytes;
    return *this;
  }

  /// Of the data section; the key is the caller's to write.
  GgufBuilder& alignment(std::uint64_t bytes) {
    alignment_ = bytes;
    return *this;
  }
  GgufBuilder& magic(std::string_view bytes) {
    magic_ = bytes;
    return *this;
  }
  GgufBuilder& version(std::uint32_t number) {
    version_ = number;
    return *this;
  }
  /// What the counts say, whatever there is.
  GgufBuilder& counts(std::optional<std::uint64_t> tensors, std::optional<std::uint64_t> keys) {
    said_tensors_ = tensors;
    said_keys_ = keys;
    return *this;
  }
  /// Without the zeros behind the last tensor.
  GgufBuilder& unpadded_end() {
    unpadded_ = true;
    return *this;
  }

  /// Where the first key-value starts, and the first tensor's description.
  static constexpr std::uint64_t kKeys = 24;
  std::uint64_t tensors_start() const { return kKeys + keys_.size(); }
  std::uint64_t data_start() const {
    const std::uint64_t end = tensors_start() + tensors_.size();
    return (end + alignment_ - 1) / alignment_ * alignment_;
  }

  std::string build() const {
    std::string out = magic_;
    out += le(version_);
    out += le(said_tensors_.value_or(tensor_count_));
    out += le(said_keys_.value_or(key_count_));
    out += keys_;
    out += tensors_;
    out.resize(static_cast<std::size_t>(data_start()), '\0');
    out += unpadded_ ? data_.substr(0, last_bytes_) : data_;
    return out;
  }

 private:
  std::string magic_ = "GGUF";
  std::uint32_t version_ = 3;
  std::uint64_t alignment_ = 32;
  std::string keys_;
  std::string tensors_;
  std::string data_;
  std::size_t last_bytes_ = 0;
  std::uint64_t key_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::optional<std::uint64_t> said_tensors_;
  std::optional<std::uint64_t> said_keys_;
  bool unpadded_ = false;
};

}  // namespace synps::testing
