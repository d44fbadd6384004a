#pragma once

// Structures that start with their own size: callers may have been built with another header.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include "c_error.h"

namespace synps::c {

// No structure of the interface comes near it: a size above was never set.
inline constexpr std::size_t kLargestStruct = 4096;

template <typename Struct>
std::size_t size_of_given(const Struct* given_struct, const char* name) {
  const std::size_t size = given(given_struct, name).struct_size;
  if (size < sizeof(size) || size > kLargestStruct)
    refuse("struct_size is no size of this structure", name, std::to_string(size),
           std::to_string(sizeof(Struct)), "set it to sizeof the structure");
  return size;
}

/// The caller's structure as this library knows it: what an older header lacks is zero. Throws
/// Error(usage) when a newer one has something in fields that are not known here.
template <typename Struct>
Struct read_struct(const Struct* from, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = size_of_given(from, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      refuse("a field is set that this version of the library does not know", name,
             std::to_string(size) + " bytes", std::to_string(sizeof(Struct)),
             "use a newer library");
  Struct read{};
  std::memcpy(&read, bytes, std::min(size, sizeof(Struct)));
  return read;
}

/// Fills as much of the caller's structure as its size says; the size stays the caller's.
template <typename Struct>
void write_struct(Struct* to, Struct full, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = size_of_given(to, name);
  full.struct_size = size;
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  std::memcpy(bytes, &full, std::min(size, sizeof(Struct)));
  if (size > sizeof(Struct)) std::memset(bytes + sizeof(Struct), 0, size - sizeof(Struct));
}

}  // namespace synps::c
