#include "synps/path_pattern.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "path_pattern_program.h"
#include "pattern_capture.h"
#include "pattern_compare.h"
#include "pattern_match.h"
#include "pattern_search.h"
#include "pattern_syntax.h"
#include "pattern_text.h"
#include "synps/error.h"

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
                                            program->dfa->start(), program->prefix)
                                .state;
  PathPattern out;
  out.program_ = std::move(program);
  return out;
}

const std::string& PathPattern::text() const noexcept {
  return program_->text;
}

std::string_view PathPattern::prefix() const noexcept {
  return program_->prefix;
}

bool PathPattern::clearly_apart(const PathPattern& other) const noexcept {
  const std::string_view a = prefix();
  const std::string_view b = other.prefix();
  return a.substr(0, b.size()) != b.substr(0, a.size());
}

bool PathPattern::covers(std::string_view path) const {
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  return covers(path, steps);
}

bool PathPattern::covers(std::string_view path, std::uint64_t& steps) const {
  std::size_t read = 0;
  return covers(path, steps, read);
}

bool PathPattern::covers(std::string_view path, std::uint64_t& steps, std::size_t& read) const {
  const Program& program = *program_;
  const std::size_t common = program.prefix.size();
  pattern::spend(steps, 1);
  if (path.substr(0, common) != program.prefix) {
    read = pattern::length_in_common(path, program.prefix) + 1;
    return false;
  }
  read = path.size() + 1;
  if (program.literal) {
    if (program.literal->size() == common) read = common + 1;
    return is_at_or_below(path, *program.literal);
  }
  if (!program.dfa) return pattern::automaton_covers(program.nfa, path, steps);
  pattern::spend(steps, (path.size() - common) / 8);
  const pattern::Followed end = pattern::follow(*program.dfa, program.nfa.alphabet,
                                                program.after_prefix, path.substr(common));
  if (end.decided) read = common + end.read;
  return program.dfa->accepts(end.state);
}

std::u32string PathPattern::wildcard_key(std::string_view path, std::uint64_t& steps) const {
  if (!covers(path, steps)) return {};
  return pattern::wildcard_key(program_->nfa, path, steps);
}

std::optional<std::string> PathPattern::find_path(const std::vector<const PathPattern*>& inside,
                                                  const std::vector<const PathPattern*>& outside,
                                                  std::uint64_t& steps) {
  const auto automata = [](const std::vector<const PathPattern*>& patterns) {
    std::vector<const pattern::Nfa*> result;
    for (const PathPattern* each : patterns) result.push_back(&each->program_->nfa);
    return result;
  };
  pattern::PathSearch search = pattern::find_path(automata(inside), automata(outside), steps);
  if (search.decided) return std::move(search.path);
  Problem problem;
  problem.code = ErrorCode::limit;
  problem.what = "patterns are too complex to compare with one another";
  problem.found = quote(inside.front()->text(), 60) + " and others";
  problem.hint = "use fewer wildcards in one pattern, or write several simpler policies";
  throw Error(std::move(problem));
}

std::string PathPattern::literal(std::string_view path) {
  // The path of one empty segment needs a pattern that is not an empty text.
  if (path.empty()) return "{,}";
  return pattern::escape_literal(path);
}

}  // namespace synps
