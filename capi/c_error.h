#pragma once

// The border between C callers and C++: nothing is thrown across it.

#include <cstddef>
#include <string>

#include "synps.h"

namespace synps::c {

/// Describes the exception in flight, which is in a catch block: returns its status and stores an
/// object in `error`, unless that is null.
int report(synps_error** error) noexcept;

/// Runs the body of a function of the interface.
template <typename Body>
int guarded(synps_error** error, const Body& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    body();
    return SYNPS_OK;
  } catch (...) {
    return report(error);
  }
}

/// Throws Error(usage).
[[noreturn]] void refuse(std::string what, std::string field = {}, std::string found = {},
                         std::string want = {}, std::string hint = {});

/// What `pointer` points at. Throws Error(usage), naming the argument, when it is null.
template <typename Value>
Value& given(Value* pointer, const char* name) {
  if (pointer == nullptr) refuse("a pointer is null", name);
  return *pointer;
}

/// An array of the caller: null only where it is empty.
template <typename Value>
void check_array(const Value* pointer, std::size_t size, const char* name) {
  if (pointer == nullptr && size != 0) refuse("a pointer is null", name);
}

}  // namespace synps::c
