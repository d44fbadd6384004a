#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "synps/codec.h"
#include "synps/codec_abi.h"
#include "synps/error.h"

namespace synps {

/// One codec of a loaded package: its table has been checked.
struct PackageCodecTable {
  const synps_codec* self = nullptr;  ///< the package's own table, for calls
  synps_codec functions{};            ///< what the host knows of it
  CodecInfo info{};
};

/// Which call of a package a fault is in.
struct PackageCall {
  const PackageCodecTable& codec;
  const char* function = "";
  std::string_view weight{};  ///< path; empty: no weight
};

/// Error(package) for something that the package did wrong in a call: `what` follows the function's
/// name ("wrote past the end of component codes").
[[noreturn]] void throw_package_fault(const PackageCall& call, std::string_view what,
                                      std::string found = {}, std::string want = {});

inline constexpr std::byte kGuardByte{0xC3};

/// A value that a package writes, with guard bytes right before and after it.
template <typename T>
struct Guarded {
  static constexpr std::size_t kGuardBytes = 64;

  explicit Guarded(const T& initial = T{}) : value(initial) {
    before.fill(kGuardByte);
    after.fill(kGuardByte);
  }
  /// Throws Error(package) when something around the value was written; `what` names the value.
  void check(const PackageCall& call, std::string_view what) const {
    for (std::size_t i = 0; i < kGuardBytes; ++i)
      if (before[i] != kGuardByte || after[i] != kGuardByte)
        throw_package_fault(call, "wrote outside " + std::string(what));
  }

  static_assert(kGuardBytes % alignof(T) == 0);  // nothing lies between the guards and the value
  alignas(T) std::array<std::byte, kGuardBytes> before;
  T value;
  std::array<std::byte, kGuardBytes> after;
};

/// Memory that a package writes, with guard bytes around it that are wide enough to hold a write of
/// one block or a short row too many. Aligned for every scalar type.
class GuardedBytes {
 public:
  static constexpr std::size_t kGuardBytes = 4096;
  static constexpr std::size_t kFewGuardBytes = 64;  ///< for what is small itself

  explicit GuardedBytes(std::size_t size, std::size_t guard = kGuardBytes);
  std::byte* data() noexcept { return memory_.get() + guard_; }
  const std::byte* data() const noexcept { return memory_.get() + guard_; }
  std::span<std::byte> bytes() noexcept { return {data(), size_}; }
  void fill(std::byte with) noexcept { std::memset(data(), std::to_integer<int>(with), size_); }
  /// Throws Error(package) when a guard byte was written; `what` names the memory.
  void check(const PackageCall& call, std::string_view what) const;

 private:
  std::size_t size_;
  std::size_t guard_;
  std::unique_ptr<std::byte[]> memory_;
};

/// A copy of what a package reads and must not write. The original must outlive it.
class GuardedCopy {
 public:
  explicit GuardedCopy(std::span<const std::byte> original,
                       std::size_t guard = GuardedBytes::kGuardBytes);
  /// Null for nothing.
  const std::byte* data() const noexcept { return original_.empty() ? nullptr : copy_.data(); }
  std::size_t size() const noexcept { return original_.size(); }
  /// Throws Error(package) when the copy or a guard byte was written; `what` names the memory.
  void check(const PackageCall& call, std::string_view what) const;

 private:
  std::span<const std::byte> original_;
  GuardedBytes copy_;
};

/// What a package gets to write a message into.
using PackageFunction = std::function<std::int32_t(char* message, std::size_t message_size)>;

/// Calls a function of a package and returns what it wrote into `message`, escaped for display.
/// Throws Error(package) when the call fails, throws, or writes outside the message; Error(limit)
/// for SYNPS_CODEC_TOO_LARGE from a function that gives sizes, std::bad_alloc for
/// SYNPS_CODEC_NO_MEMORY.
std::string call_package(const PackageCall& call, const PackageFunction& function);

/// Where the message is of no interest when the call succeeds.
inline void run_package(const PackageCall& call, const PackageFunction& function) {
  static_cast<void>(call_package(call, function));
}

}  // namespace synps
