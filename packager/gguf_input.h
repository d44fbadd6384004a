#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "synps/file.h"

namespace synps {

/// Reads a GGUF file from its start to wherever its header ends, through one buffer. Everything is
/// checked against the end of the file before it is read, or memory is taken for it.
class GgufInput {
 public:
  explicit GgufInput(const InputFile& file);

  std::uint64_t offset() const noexcept { return offset_; }  ///< of the next byte
  std::uint64_t left() const noexcept { return file_.size() - offset_; }
  const InputFile& file() const noexcept { return file_; }

  /// What is being read, for messages: "key 'general.name'". `name` outlives its use.
  void set_place(const char* kind, const std::string* name) noexcept {
    kind_ = kind;
    name_ = name;
  }

  std::uint32_t u32(const char* what);
  std::uint64_t u64(const char* what);
  /// A length field that must not be above `most`, and its text.
  std::string text(const char* what, std::uint64_t most);
  /// The next bytes, at most kBufferBytes, until the next call.
  std::span<const std::byte> take(std::uint64_t size, const char* what);
  void skip(std::uint64_t size, const char* what);
  void jump(std::uint64_t offset) noexcept;  ///< `offset` lies in the file

  static constexpr std::size_t kBufferBytes = 1 << 16;

  struct Fault {
    std::string what;
    std::uint64_t offset = 0;
    std::string found{};
    std::string want{};
    std::string hint{};
  };
  /// Throws Error(checkpoint), the field being what was set as place.
  [[noreturn]] void fail(Fault fault) const;
  /// A count of things that take `each` bytes at least. Fails where the rest of the file cannot
  /// hold them.
  void check_count(std::uint64_t count, std::uint64_t each, const char* what,
                   std::uint64_t at) const;

 private:
  [[noreturn]] void ends_early(std::uint64_t size, const char* what) const;

  const InputFile& file_;
  std::vector<std::byte> buffer_;
  std::uint64_t begin_ = 0;  ///< of the buffer's bytes in the file
  std::uint64_t end_ = 0;
  std::uint64_t offset_ = 0;
  const char* kind_ = nullptr;
  const std::string* name_ = nullptr;
};

/// Little-endian.
std::uint64_t load_unsigned(std::span<const std::byte> bytes) noexcept;

}  // namespace synps
