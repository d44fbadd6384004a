#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace synps {

/// XXH3-128 in its canonical (big-endian) byte sequence, as `xxhsum -H2` prints it. It finds
/// damage; it is no protection against a forger.
using Digest = std::array<std::byte, 16>;

Digest xxh3_128(std::span<const std::byte> bytes) noexcept;

/// 32 lower-case hex digits.
std::string to_hex(const Digest& digest);
/// Exactly 32 lower-case hex digits, else nothing.
std::optional<Digest> digest_from_hex(std::string_view hex) noexcept;

/// XXH3-128 of bytes that come in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void reset() noexcept;
  void update(std::span<const std::byte> bytes) noexcept;
  Digest digest() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace synps
