#pragma once

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

#include "synps/error.h"
#include "synps/os.h"

namespace synps {

/// Error(io) for a call on `path` that returned `error` (-errno).
Error io_error(const std::string& path, std::string what, int error);

/// Calls until the call was not interrupted by a signal.
template <typename Call>
auto retry(const Call& call) {
  auto result = call();
  while (result == -EINTR) result = call();
  return result;
}

/// Fills `out` from `offset`, over interruptions and short reads. Throws Error(io), also when the
/// file ends before.
void read_fully(Os& os, int descriptor, const std::string& path, std::uint64_t offset,
                std::span<std::byte> out);

/// Writes all of `bytes` at `offset`. Throws Error(io).
void write_fully(Os& os, int descriptor, const std::string& path, std::uint64_t offset,
                 std::span<const std::byte> bytes);

}  // namespace synps
