#pragma once

#include <string_view>

namespace synps::cli {

/// Thrown when standard output does not take what was to be written.
struct OutputLost {
  int error = 0;  ///< errno
};

/// Puts something unusable in place of descriptors 0 to 2 that are closed, so that no file of ours
/// gets their numbers, and so that writing to them still fails.
void occupy_standard_descriptors();

/// Lets the process have open as many files as it may: an artifact in several files has them all
/// open at a time, and the usual limit is a thousand.
void allow_many_descriptors();

/// Writes all of `text` to standard output. Throws OutputLost; Interrupted when a signal was noted
/// while it waited.
void write_output(std::string_view text);

/// Closes standard output, where some file systems tell only then that the bytes did not get
/// through. Throws OutputLost.
void close_output();

/// Writes to standard error, as far as that is possible.
void write_error(std::string_view text) noexcept;

}  // namespace synps::cli
