#include "synps/error.h"

#include <fmt/format.h>

#include <cassert>
#include <utility>

#include "utf8.h"

namespace synps {
namespace {

/// Characters that move the cursor, hide text, or reorder it.
bool disturbs_terminal(std::uint32_t c) noexcept {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return true;
  const bool bidirectional = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  const bool invisible = (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0xFEFF;
  return bidirectional || invisible;
}

void append_part(std::string& out, std::string_view part) {
  out += escape_for_display(part);
}

/// "FIELD, offset N" as far as known.
std::string where_of(const Problem& problem) {
  std::string where = escape_for_display(problem.field);
  if (problem.offset) {
    if (!where.empty()) where += ", ";
    where += fmt::format("offset {}", *problem.offset);
  }
  return where;
}

std::string join_lines(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += to_string(problem);
  }
  return text;
}

}  // namespace

std::string escape_for_display(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (!c.valid || (c.value < 0x80 && disturbs_terminal(c.value)))
      out += fmt::format("\\x{:02x}", c.value);
    else if (disturbs_terminal(c.value))
      out += fmt::format("\\u{{{:x}}}", c.value);
    else
      out += text.substr(at, c.size);
    at += c.size;
  }
  return out;
}

std::string quote(std::string_view text, std::size_t limit) {
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size() && count < limit; ++count)
    at += code_point_at(text, at).size;
  const bool cut = at < text.size();
  std::string out = "'";
  out += escape_for_display(text.substr(0, at));
  out += cut ? "…'" : "'";
  return out;
}

std::string to_string(const Problem& problem) {
  std::string out;
  if (!problem.file.empty()) {
    append_part(out, problem.file);
    if (problem.line != 0) out += fmt::format(":{}", problem.line);
    if (problem.line != 0 && problem.column != 0) out += fmt::format(":{}", problem.column);
    out += ": ";
  }
  append_part(out, problem.what);
  if (const std::string where = where_of(problem); !where.empty()) out += " (" + where + ")";
  if (!problem.found.empty()) {
    out += ": found ";
    append_part(out, problem.found);
  }
  if (!problem.want.empty()) {
    out += problem.found.empty() ? ": want " : ", want ";
    append_part(out, problem.want);
  }
  if (!problem.hint.empty()) {
    out += "; ";
    append_part(out, problem.hint);
  }
  return out;
}

Error::Error(Problem problem) : problems_{std::move(problem)}, text_(join_lines(problems_)) {}

Error::Error(std::vector<Problem> problems)
    : problems_(std::move(problems)), text_(join_lines(problems_)) {
  assert(!problems_.empty());
}

}  // namespace synps
