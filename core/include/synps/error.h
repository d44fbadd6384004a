#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace synps {

/// What kind of fault an error is. The values are the command line's exit codes and are frozen.
enum class ErrorCode : int {
  usage = 2,       ///< a command or call that makes no sense as written
  checkpoint = 3,  ///< a source that is malformed, or holds values its codec cannot store
  io = 4,          ///< the operating system refused to read or write
  artifact = 5,    ///< a file that was to be an artifact and is not a sound one
  limit = 6,       ///< larger than a stated limit, or does not fit
  policy = 7,      ///< synps.toml is malformed or contradicts itself or the checkpoint
  output = 8,      ///< the output exists, is busy, or is an input
  package = 9,     ///< a codec package is missing, unfit or misbehaves
};

/// One fault, in the parts a person needs: what is wrong, where, what was found, what was wanted
/// and what to do. Empty parts are left out of the text.
struct Problem {
  ErrorCode code = ErrorCode::usage;
  std::string file{};                     ///< path as the user named it
  std::string what{};                     ///< the fault, a clause without a full stop
  std::string field{};                    ///< tensor, key or field it is in
  std::optional<std::uint64_t> offset{};  ///< byte offset in `file`
  std::uint32_t line = 0;                 ///< 1-based; 0: not a text file
  std::uint32_t column = 0;               ///< 1-based, in code points; 0: unknown
  std::string found{};
  std::string want{};
  std::string hint{};  ///< what to do about it
};

/// `FILE:LINE:COLUMN: WHAT (FIELD, offset N): found X, want Y; HINT`, on one line. Control
/// characters and other bytes that could disturb a terminal are escaped.
std::string to_string(const Problem& problem);

/// `text` with control characters, DEL, C1 controls, bidirectional overrides and invalid UTF-8
/// written as `\xNN` or `\u{NNNN}`, so that it can be shown on a terminal.
std::string escape_for_display(std::string_view text);

/// `text` escaped for display, cut to `limit` code points with an ellipsis, in single quotes.
std::string quote(std::string_view text, std::size_t limit = 120);

/// The one exception type for faults that a user can cause. Holds one or more problems; `code()`
/// is the first problem's.
class Error : public std::exception {
 public:
  explicit Error(Problem problem);
  /// `problems` must not be empty.
  explicit Error(std::vector<Problem> problems);

  ErrorCode code() const noexcept { return problems_.front().code; }
  const std::vector<Problem>& problems() const noexcept { return problems_; }
  /// All problems, one a line.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Problem> problems_;
  std::string text_;
};

}  // namespace synps
