#pragma once

#include <string>

#include "synps/byte_size.h"

namespace synps::cli {

/// What is wrong with the value of an option that is a number of bytes above 0, or nothing.
std::string byte_size_fault(const std::string& text);

/// The same where 0 is a number, too.
std::string byte_count_fault(const std::string& text);

}  // namespace synps::cli
