#include "gguf_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "synps/error.h"

namespace synps {

std::uint64_t load_unsigned(std::span<const std::byte> bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

GgufInput::GgufInput(const InputFile& file)
    : file_(file),
      buffer_(static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, file.size()))) {}

void GgufInput::fail(Fault fault) const {
  Problem problem{.code = ErrorCode::checkpoint, .file = file_.path()};
  problem.what = std::move(fault.what);
  if (kind_ != nullptr) problem.field = kind_;
  if (name_ != nullptr) problem.field += " " + quote(*name_);
  problem.offset = fault.offset;
  problem.found = std::move(fault.found);
  problem.want = std::move(fault.want);
  problem.hint = std::move(fault.hint);
  throw Error(std::move(problem));
}

void GgufInput::ends_early(std::uint64_t size, const char* what) const {
  fail({.what = fmt::format("the file ends within {}", what),
        .offset = offset_,
        .found = fmt::format("{} bytes", left()),
        .want = fmt::format("{} bytes", size),
        .hint = "the file may be cut short"});
}

void GgufInput::check_count(std::uint64_t count, std::uint64_t each, const char* what,
                            std::uint64_t at) const {
  if (count <= left() / each) return;
  fail({.what = fmt::format("more {} than the file can hold", what),
        .offset = at,
        .found = fmt::format("{}", count),
        .want = fmt::format("at most {}", left() / each),
        .hint = "the file may be cut short"});
}

std::span<const std::byte> GgufInput::take(std::uint64_t size, const char* what) {
  if (size > left()) ends_early(size, what);
  if (offset_ < begin_ || offset_ + size > end_) {
    const std::uint64_t fill = std::min<std::uint64_t>(buffer_.size(), left());
    file_.read(offset_, std::span(buffer_).first(static_cast<std::size_t>(fill)));
    begin_ = offset_;
    end_ = offset_ + fill;
  }
  const auto bytes = std::span<const std::byte>(buffer_).subspan(
      static_cast<std::size_t>(offset_ - begin_), static_cast<std::size_t>(size));
  offset_ += size;
  return bytes;
}

void GgufInput::skip(std::uint64_t size, const char* what) {
  if (size > left()) ends_early(size, what);
  offset_ += size;
}

void GgufInput::jump(std::uint64_t offset) noexcept {
  offset_ = offset;
}

std::uint32_t GgufInput::u32(const char* what) {
  return static_cast<std::uint32_t>(load_unsigned(take(4, what)));
}

std::uint64_t GgufInput::u64(const char* what) {
  return load_unsigned(take(8, what));
}

std::string GgufInput::text(const char* what, std::uint64_t most) {
  const std::uint64_t at = offset_;
  const std::uint64_t size = u64(what);
  if (size == 0 || size > most)
    fail({.what = fmt::format("{} of a length that GGUF does not allow", what),
          .offset = at,
          .found = fmt::format("{} bytes", size),
          .want = fmt::format("1 to {}", most)});
  const std::span<const std::byte> bytes = take(size, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace synps
