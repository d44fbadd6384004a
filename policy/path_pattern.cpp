#include "synps/path_pattern.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "path_pattern_program.h"
#include "pattern_compare.h"
#include "pattern_match.h"
#include "pattern_syntax.h"
#include "pattern_text.h"

namespace synps {
namespace {

std::optional<std::string> literal_path(const std::vector<pattern::SegmentPattern>& segments) {
  std::string path;
  for (const pattern::SegmentPattern& segment : segments) {
    if (segment.any_depth || !pattern::is_literal(segment.glob)) return std::nullopt;
    if (&segment != &segments.front()) path += '.';
    path += pattern::literal_text(segment.glob);
  }
  return path;
}

bool is_at_or_below(std::string_view path, std::string_view root) {
  return path.substr(0, root.size()) == root &&
         (path.size() == root.size() || path[root.size()] == '.');
}

}  // namespace

PathPattern PathPattern::parse(std::string_view text) {
  const std::vector<pattern::SegmentPattern> segments = pattern::parse_pattern(text);
  auto program = std::make_shared<Program>();
  program->text = text;
  program->literal = literal_path(segments);
  program->prefix = pattern::common_prefix(segments);
  program->nfa = pattern::compile(segments);
  program->dfa = pattern::Dfa::build(program->nfa);
  if (program->dfa)
    program->after_prefix = pattern::follow(*program->dfa, program->nfa.alphabet,
                                            program->dfa->start(), program->prefix);
  PathPattern out;
  out.program_ = std::move(program);
  return out;
}

const std::string& PathPattern::text() const noexcept {
  return program_->text;
}

bool PathPattern::covers(std::string_view path) const {
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  return covers(path, steps);
}

bool PathPattern::covers(std::string_view path, std::uint64_t& steps) const {
  const Program& program = *program_;
  const std::size_t common = program.prefix.size();
  pattern::spend(steps, 1);
  if (path.substr(0, common) != program.prefix) return false;
  if (program.literal) return is_at_or_below(path, *program.literal);
  if (!program.dfa) return pattern::automaton_covers(program.nfa, path, steps);
  pattern::spend(steps, (path.size() - common) / 8);
  return program.dfa->accepts(pattern::follow(*program.dfa, program.nfa.alphabet,
                                              program.after_prefix, path.substr(common)));
}

std::string PathPattern::literal(std::string_view path) {
  // The path of one empty segment needs a pattern that is not an empty text.
  if (path.empty()) return "{,}";
  return pattern::escape_literal(path);
}

}  // namespace synps
