#include "toml_reader.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "problem_list.h"
#include "synps/byte_size.h"

namespace synps {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The first of `wanted` from `begin` on that stands outside strings, or npos.
std::size_t find_bare(std::string_view line, std::string_view wanted, std::size_t begin) {
  char quote = '\0';
  for (std::size_t i = begin; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '"' && c == '\\') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (wanted.find(c) != std::string_view::npos) {
      return i;
    }
  }
  return std::string_view::npos;
}

// Byte offset of the key that stands last in `line`: after the last brace or comma.
std::size_t last_key(std::string_view line) {
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = find_bare(line, "{,", begin)) != std::string_view::npos;)
    begin = at + 1;
  return std::min(line.find_first_not_of(" \t", begin), line.size());
}

struct SecondKey {
  std::string_view text;
  SourcePlace place;
};

// toml++ reports a key that is set twice at the second one's value, a table at its header, and
// garbles the name of both: read it from the line.
SecondKey second_key(SourcePlace place, const TomlText& lines) {
  const std::string_view rest = lines.from(place);
  const std::string_view line = lines.line(place.line);
  const std::string_view before = line.substr(0, line.size() - rest.size());
  if (trim(before).empty() && rest.starts_with('[')) {
    const std::string_view header = rest.substr(rest.starts_with("[[") ? 2 : 1);
    return {trim(header.substr(0, find_bare(header, "]", 0))), place};
  }
  if (!trim(before).ends_with('=')) return {trim(rest.substr(0, find_bare(rest, "=", 0))), place};
  const std::size_t begin = last_key(before);
  place.column = static_cast<std::uint32_t>(code_points(before.substr(0, begin)) + 1);
  return {trim(before.substr(begin, before.rfind('=') - begin)), place};
}

// The header a line seems to mean, its pattern quoted: `[policies.a.*.form]` gives
// `[policies."a.*".form]`. Nothing for other lines.
std::optional<std::string> quoted_header(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t[");
  if (begin == std::string_view::npos || line.find('[') >= begin) return std::nullopt;
  std::string_view path = line.substr(begin, line.find_first_of("]#", begin) - begin);
  constexpr std::string_view kPrefix = "policies.";
  if (!path.starts_with(kPrefix) || path.find_first_of("\"'") != std::string_view::npos)
    return std::nullopt;
  path.remove_prefix(kPrefix.size());
  std::string_view tail;
  for (const std::string_view name : {".schemes", ".form", ".backend"})
    if (path.ends_with(name)) tail = name;
  path.remove_suffix(tail.size());
  const bool list = tail == ".schemes";
  return fmt::format("{}policies.{}{}{}", list ? "[[" : "[", toml_key(path), tail,
                     list ? "]]" : "]");
}

// What a line that toml++ could not read seems to mean: a string without quotes, or one bracket too
// few. Nothing for other lines.
std::optional<std::string> slip(std::string_view line) {
  const std::string_view text = trim(line.substr(0, find_bare(line, "#", 0)));
  if (text.starts_with("[[") && !text.ends_with("]]")) {
    std::string_view inner = text.substr(2);
    if (inner.ends_with(']')) inner.remove_suffix(1);
    return fmt::format("write [[{}]]", inner);
  }
  const std::size_t equals = find_bare(text, "=", 0);
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view value = trim(text.substr(equals + 1));
  const bool bare = !value.empty() && value.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_:.-/") == std::string_view::npos;
  if (!bare || value.find_first_of("0123456789.-") == 0) return std::nullopt;
  return fmt::format("a text is quoted: {} = \"{}\"", trim(text.substr(0, equals)), value);
}

Problem syntax_problem(std::string_view description) {
  constexpr std::string_view kWhile = "Error while parsing ";
  Problem problem;
  std::string_view rest = description;
  std::string context;
  if (rest.starts_with(kWhile)) {
    rest.remove_prefix(kWhile.size());
    const std::size_t colon = rest.find(": ");
    if (colon != std::string_view::npos) {
      context = fmt::format(" in {}", rest.substr(0, colon));
      rest.remove_prefix(colon + 2);
    }
  }
  constexpr std::string_view kExpected = "expected ";
  constexpr std::string_view kSaw = ", saw ";
  const std::size_t saw = rest.rfind(kSaw);
  if (rest.starts_with(kExpected) && saw != std::string_view::npos) {
    problem.what = fmt::format("TOML syntax error{}", context);
    problem.found = rest.substr(saw + kSaw.size());
    problem.want = rest.substr(kExpected.size(), saw - kExpected.size());
  } else {
    problem.what = fmt::format("TOML syntax error{}: {}", context, rest);
  }
  return problem;
}

[[noreturn]] void throw_syntax_error(const toml::parse_error& error, const TomlText& lines,
                                     const std::string& file) {
  const std::string_view description = error.description();
  SourcePlace place = place_of(error.source());
  Problem problem = syntax_problem(description);
  if (description.find("redefine") != std::string_view::npos) {
    const SecondKey key = second_key(place, lines);
    place = key.place;
    problem = {.field = code_points(key.text) > 120 ? quote(key.text, 120) : std::string(key.text)};
    problem.what = "a key or table is set twice";
    problem.hint = "a table has each key once; merge the two";
  } else if (const auto header = quoted_header(lines.line(place.line))) {
    problem.hint = fmt::format("a pattern is quoted: {}", *header);
  } else if (const auto meant = slip(lines.line(place.line))) {
    problem.hint = *meant;
  }
  ProblemList problems(file);
  problems.add(place, std::move(problem));
  problems.throw_all();
}

}  // namespace

toml::table read_toml(std::string_view text, const TomlText& lines, const std::string& file) {
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw_syntax_error(error, lines, file);
  }
}

SourcePlace place_of(const toml::source_region& region) noexcept {
  return {region.begin.line, region.begin.column};
}

std::optional<std::uint64_t> byte_size_of(const toml::node& node) noexcept {
  if (const auto* text = node.as_string()) return parse_byte_size(text->get());
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number->get());
}

std::string_view type_found(const toml::node& node) noexcept {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return node.is_array_of_tables() ? "an array of tables" : "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    case toml::node_type::date_time:
      return "a date and time";
    case toml::node_type::none:
      break;
  }
  return "nothing";
}

}  // namespace synps
