#pragma once

#include <simdjson.h>

#include <cstddef>
#include <new>
#include <string_view>

namespace synps {

/// A copy of `text` that simdjson parses. Throws std::bad_alloc, where simdjson's constructor says
/// nothing and holds nothing.
inline simdjson::padded_string padded_text(std::string_view text) {
  simdjson::padded_string padded(text);
  if (padded.data() == nullptr) throw std::bad_alloc();
  return padded;
}

/// `size` bytes to fill, for simdjson. Throws std::bad_alloc.
inline simdjson::padded_string padded_buffer(std::size_t size) {
  simdjson::padded_string padded(size);
  if (padded.data() == nullptr) throw std::bad_alloc();
  return padded;
}

}  // namespace synps
