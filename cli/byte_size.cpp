#include "byte_size.h"

#include "synps/error.h"

namespace synps::cli {

std::string byte_size_fault(const std::string& text) {
  if (parse_byte_size(text).value_or(0) != 0) return {};
  return quote(text) + " is not a size above 0, such as 500000000, 512MiB or 2GB";
}

std::string byte_count_fault(const std::string& text) {
  if (parse_byte_size(text)) return {};
  return quote(text) + " is not a size, such as 500000000, 512MiB or 2GB";
}

}  // namespace synps::cli
