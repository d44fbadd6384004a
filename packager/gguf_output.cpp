#include "gguf_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_layout.h"
#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

// The layout of the header: the GGUF specification (ggml/docs/gguf.md), version 3.
constexpr std::string_view kMagic = "GGUF";

/// Writes a file from its start, through a buffer, so that a vocabulary of any size passes through.
class Appender {
 public:
  explicit Appender(AtomicFile& file) : file_(file) { buffer_.reserve(kBufferBytes); }

  std::uint64_t written() const noexcept { return begin_ + buffer_.size(); }

  template <typename T>
  void number(T value) {
    std::byte bytes[sizeof(T)];
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
    append(bytes);
  }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    append(std::as_bytes(std::span(text)));
  }
  void append(std::span<const std::byte> bytes) {
    if (bytes.size() > kBufferBytes - buffer_.size()) flush();
    if (bytes.size() > kBufferBytes) {  // a long key
      file_.write(begin_, bytes);
      begin_ += bytes.size();
      return;
    }
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  void copy(const InputFile& from, std::uint64_t offset, std::uint64_t size) {
    while (size != 0) {
      if (buffer_.size() == kBufferBytes) flush();
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(size, kBufferBytes - buffer_.size()));
      const std::size_t at = buffer_.size();
      buffer_.resize(at + piece);
      from.read(offset, std::span(buffer_).subspan(at));
      offset += piece;
      size -= piece;
    }
  }
  void flush() {
    if (!buffer_.empty()) file_.write(begin_, buffer_);
    begin_ += buffer_.size();
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kBufferBytes = 1 << 16;

  AtomicFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t begin_ = 0;  ///< of the buffer's bytes in the file
};

void write_key_value(Appender& out, const Checkpoint& checkpoint, const PlannedKeyValue& planned) {
  out.text(planned.key);
  if (planned.value) {
    out.number(static_cast<std::uint32_t>(planned.type));
    if (planned.type == GgufValueType::uint16)
      out.number(static_cast<std::uint16_t>(*planned.value));
    else
      out.number(*planned.value);
    return;
  }
  const SourceKeyValue& source = checkpoint.key_values()[*planned.source];
  const GgufKeyValue& value = source.value;
  out.number(static_cast<std::uint32_t>(value.type));
  if (value.type == GgufValueType::array) out.number(static_cast<std::uint32_t>(value.items));
  if (value.type == GgufValueType::array || value.type == GgufValueType::string)
    out.number(value.count);
  out.copy(checkpoint.files()[source.file], value.offset, value.bytes);
}

void write_description(Appender& out, const Weight& weight, const GgufType& type,
                       std::uint64_t offset) {
  out.text(weight.path);
  const std::vector<std::uint64_t>& extents = weight.shape.extents();
  out.number(static_cast<std::uint32_t>(extents.size()));
  std::for_each(extents.rbegin(), extents.rend(),
                [&](std::uint64_t extent) { out.number(extent); });
  out.number(type.number);
  out.number(offset);
}

void write_header(Appender& out, const Checkpoint& checkpoint, const Plan& plan) {
  out.append(std::as_bytes(std::span(kMagic)));
  out.number(kGgufVersion);
  out.number<std::uint64_t>(plan.gguf->tensors.size());
  out.number<std::uint64_t>(plan.gguf->key_values.size());
  for (const PlannedKeyValue& each : plan.gguf->key_values) write_key_value(out, checkpoint, each);
  for (const std::size_t i : plan.gguf->tensors) {
    const PlannedWeight& planned = plan.weights[i];
    write_description(out, checkpoint.tensors()[planned.tensor].weight, *planned.gguf_type,
                      plan.stored(planned).components.front().offset);
  }
  out.flush();
}

}  // namespace

GgufOutput::GgufOutput(const Checkpoint& checkpoint, const Plan& plan, AtomicFile& file)
    : checkpoint_(checkpoint), plan_(plan), file_(file) {
  // A fresh file reads as zeros, so padding needs no writing.
  file_.allocate(plan.layout.file_bytes);
}

std::optional<ArtifactLayout> GgufOutput::finish(unsigned, Progress&, PackTrace*) {
  Appender out(file_);
  write_header(out, checkpoint_, plan_);
  if (out.written() != gguf_header_bytes(checkpoint_, plan_))
    throw std::logic_error("a GGUF header has not the planned size");
  checkpoint_.check_unchanged();  // key-values were read after the weights
  return std::nullopt;
}

std::uint64_t GgufOutput::file_offset(std::size_t weight, std::size_t component,
                                      std::uint64_t offset) const {
  return plan_.layout.header_bytes +
         plan_.layout.index.weights[weight].components[component].offset + offset;
}

void GgufOutput::write(std::size_t weight, std::size_t component, std::uint64_t offset,
                       std::span<const std::byte> bytes) {
  const StoredComponent& stored = plan_.layout.index.weights[weight].components[component];
  if (!range_fits(offset, bytes.size(), stored.component.bytes))
    throw Error({.code = ErrorCode::package,
                 .what = "the codec makes more bytes than it announced",
                 .field = stored.entry,
                 .found = fmt::format("{} bytes at offset {}", bytes.size(), offset),
                 .want = fmt::format("{} bytes in all", stored.component.bytes)});
  file_.write(file_offset(weight, component, offset), bytes);
}

void GgufOutput::read(std::size_t weight, std::size_t component, std::uint64_t offset,
                      std::span<std::byte> out) const {
  file_.read(file_offset(weight, component, offset), out);
}

std::uint64_t GgufOutput::share(std::size_t weight, std::size_t component, std::uint64_t offset,
                                const InputFile& from, std::uint64_t from_offset,
                                std::uint64_t size) {
  return file_.share(file_offset(weight, component, offset), from, from_offset, size);
}

}  // namespace synps
