#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "synps/dtype.h"
#include "temp_dir.h"

namespace synps::testing {

/// `text` as a JSON string, quotes included. Bytes from 0x20 on stay as they are.
inline std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// `json` behind a length field that says `length`, whatever the JSON's true length, then `data`.
inline std::string raw_safetensors_of_length(std::uint64_t length, std::string_view json,
                                             std::string_view data = {}) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  out += json;
  out += data;
  return out;
}

/// A safetensors file of any header text and any data: for files that a builder cannot make.
inline std::string raw_safetensors(std::string_view json, std::string_view data = {}) {
  return raw_safetensors_of_length(json.size(), json, data);
}

/// The bytes of numbers in memory, which is little-endian wherever these tests run.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

/// Builds safetensors files, sound ones unless told otherwise: tensors lie in the order of add(),
/// one after another.
class SafetensorsBuilder {
 public:
  /// `dtype` is a safetensors name, known or not. Neither it nor `shape` need fit `bytes`.
  SafetensorsBuilder& add(std::string_view name, std::string_view dtype,
                          const std::vector<std::uint64_t>& shape, std::string_view bytes) {
    std::string dims;
    for (const std::uint64_t extent : shape) {
      if (!dims.empty()) dims += ',';
      dims += std::to_string(extent);
    }
    const std::size_t begin = data_.size();
    data_ += bytes;
    add_raw_field(json_string(name) + ":{\"dtype\":" + json_string(dtype) + ",\"shape\":[" + dims +
                  "],\"data_offsets\":[" + std::to_string(begin) + "," +
                  std::to_string(data_.size()) + "]}");
    return *this;
  }
  SafetensorsBuilder& add(std::string_view name, DType dtype,
                          const std::vector<std::uint64_t>& shape, std::string_view bytes) {
    return add(name, dtype_name(dtype), shape, bytes);
  }
  SafetensorsBuilder& add(std::string_view name, DType dtype,
                          const std::vector<std::uint64_t>& shape,
                          std::span<const std::byte> bytes) {
    return add(name, dtype, shape,
               std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  SafetensorsBuilder& add_f32(std::string_view name, const std::vector<std::uint64_t>& shape,
                              const std::vector<float>& values) {
    return add(name, std::string_view("F32"), shape, bytes_of(values));
  }

  /// Adds to `__metadata__`, which comes first in the header.
  SafetensorsBuilder& metadata(std::string_view key, std::string_view value) {
    if (!metadata_.empty()) metadata_ += ',';
    metadata_ += json_string(key) + ":" + json_string(value);
    return *this;
  }
  /// One header field as JSON text: `"name":{…}`.
  SafetensorsBuilder& add_raw_field(std::string_view field) {
    if (!fields_.empty()) fields_ += ',';
    fields_ += field;
    return *this;
  }
  /// Spaces after the header's JSON.
  SafetensorsBuilder& pad_header(std::size_t spaces) {
    padding_ = spaces;
    return *this;
  }

  std::string header() const {
    std::string json = "{";
    if (!metadata_.empty()) json += "\"__metadata__\":{" + metadata_ + "}";
    if (!metadata_.empty() && !fields_.empty()) json += ',';
    json += fields_ + "}";
    return json + std::string(padding_, ' ');
  }
  const std::string& data() const noexcept { return data_; }
  std::string build() const { return raw_safetensors(header(), data_); }
  void write(const std::string& path) const { write_file(path, build()); }

 private:
  std::string metadata_;
  std::string fields_;
  std::string data_;
  std::size_t padding_ = 0;
};

/// Builds `model.safetensors.index.json`.
class ShardIndexBuilder {
 public:
  ShardIndexBuilder& map(std::string_view tensor, std::string_view shard) {
    if (!map_.empty()) map_ += ',';
    map_ += json_string(tensor) + ":" + json_string(shard);
    return *this;
  }
  /// The value of `metadata`, as JSON text.
  ShardIndexBuilder& metadata(std::string_view json) {
    metadata_ = json;
    return *this;
  }

  std::string build() const {
    const std::string head = metadata_.empty() ? "" : "\"metadata\":" + metadata_ + ",";
    return "{" + head + "\"weight_map\":{" + map_ + "}}";
  }
  void write(const std::string& path) const { write_file(path, build()); }

 private:
  std::string metadata_;
  std::string map_;
};

}  // namespace synps::testing
