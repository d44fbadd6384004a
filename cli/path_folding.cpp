#include "path_folding.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace synps::cli {
namespace {

/// Longer paths stand alone: folding costs time that grows with the square of the depth.
constexpr std::size_t kMaxSegments = 16;
constexpr std::size_t kMaxPathBytes = 512;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// The value of a number as a counting pattern writes it: digits without leading zeros.
std::optional<std::uint64_t> canonical_number(std::string_view text) noexcept {
  if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), is_digit) ||
      (text.size() > 1 && text[0] == '0'))
    return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\*?{},").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// One segment of a row: a name as the path has it, or a pattern of several.
struct Segment {
  std::string text;
  bool folded = false;

  std::string pattern() const { return folded ? text : escape(text); }
};

struct Row {
  std::vector<Segment> segments;
  std::vector<std::size_t> members;
  const std::string* key = nullptr;

  std::string pattern() const {
    std::string out;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (i != 0) out += '.';
      out += segments[i].pattern();
    }
    return out;
  }
};

std::vector<Segment> split(std::string_view path) {
  const auto dots = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
  if (dots + 1 > kMaxSegments || path.size() > kMaxPathBytes) return {};
  std::vector<Segment> segments;
  for (std::size_t begin = 0;;) {
    const std::size_t end = path.find('.', begin);
    segments.push_back({std::string(path.substr(begin, end - begin)), false});
    if (end == std::string_view::npos) return segments;
    begin = end + 1;
  }
}

std::string braces(const std::vector<std::string>& choices) {
  std::string out = "{";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i != 0) out += ',';
    out += escape(choices[i]);
  }
  return out + "}";
}

/// Braces for rising numbers: counted when they have no gap, listed otherwise.
std::string number_braces(const std::vector<std::uint64_t>& numbers) {
  if (numbers.size() > 2 && numbers.back() - numbers.front() + 1 == numbers.size())
    return "{" + std::to_string(numbers.front()) + ".." + std::to_string(numbers.back()) + "}";
  std::vector<std::string> texts;
  for (const std::uint64_t number : numbers) texts.push_back(std::to_string(number));
  return braces(texts);
}

std::size_t common_prefix(const std::vector<std::string>& names) {
  std::size_t length = names.front().size();
  for (const std::string& name : names) {
    const auto [a, b] = std::mismatch(names.front().begin(),
                                      names.front().begin() + static_cast<std::ptrdiff_t>(length),
                                      name.begin(), name.end());
    length = static_cast<std::size_t>(a - names.front().begin());
  }
  return length;
}

std::size_t common_suffix(const std::vector<std::string>& names) {
  std::vector<std::string> reversed;
  for (const std::string& name : names) reversed.emplace_back(name.rbegin(), name.rend());
  return common_prefix(reversed);
}

bool is_joint(char c) noexcept {
  return c == '_' || c == '-';
}

/// What is left of every name without `prefix` bytes in front and `suffix` behind; nothing when
/// that leaves a name empty.
std::optional<std::vector<std::string>> rests(const std::vector<std::string>& names,
                                              std::size_t prefix, std::size_t suffix) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (name.size() <= prefix + suffix) return std::nullopt;
    out.push_back(name.substr(prefix, name.size() - prefix - suffix));
  }
  return out;
}

std::optional<std::vector<std::uint64_t>> as_numbers(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& text : texts) {
    const auto number = canonical_number(text);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// `names` (two or more, different, in natural order) as one segment: what they share at both ends
/// stays outside the braces, cut where a word ends, so that `{gate,up}_proj` keeps words whole.
std::string name_braces(const std::vector<std::string>& names) {
  const std::string& first = names.front();
  std::size_t prefix = common_prefix(names);
  std::size_t suffix = common_suffix(names);
  while (prefix > 0 && is_digit(first[prefix - 1])) --prefix;
  while (suffix > 0 && is_digit(first[first.size() - suffix])) --suffix;
  if (const auto digits = rests(names, prefix, suffix))
    if (const auto numbers = as_numbers(*digits))
      return escape(first.substr(0, prefix)) + number_braces(*numbers) +
             escape(first.substr(first.size() - suffix));

  while (prefix > 0 && !is_joint(first[prefix - 1])) --prefix;
  while (suffix > 0 && !is_joint(first[first.size() - suffix])) --suffix;
  const auto words = rests(names, prefix, suffix);
  if (!words) return braces(names);
  return escape(first.substr(0, prefix)) + braces(*words) +
         escape(first.substr(first.size() - suffix));
}

/// Rows in buckets that could become one row by folding segment `position`.
std::vector<std::vector<std::size_t>> buckets(const std::vector<Row>& rows, std::size_t position,
                                              bool numbers) {
  std::unordered_map<std::string, std::size_t> index;
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    if (position >= row.segments.size() || row.segments[position].folded) continue;
    if (canonical_number(row.segments[position].text).has_value() != numbers) continue;
    std::string key = *row.key;
    for (std::size_t s = 0; s < row.segments.size(); ++s) {
      // NUL and SOH keep "the folded one" and folded segments apart from names.
      key += '\0';
      if (s == position) continue;
      if (row.segments[s].folded) key += '\1';
      key += row.segments[s].text;
    }
    const auto [found, added] = index.try_emplace(std::move(key), out.size());
    if (added) out.emplace_back();
    out[found->second].push_back(r);
  }
  return out;
}

/// Merges rows `from` into the first of them, whose segment becomes `text`.
void merge(std::vector<Row>& rows, const std::vector<std::size_t>& from, std::size_t position,
           std::string text) {
  Row& target = rows[from.front()];
  target.segments[position] = {std::move(text), true};
  for (std::size_t i = 1; i < from.size(); ++i) {
    Row& source = rows[from[i]];
    target.members.insert(target.members.end(), source.members.begin(), source.members.end());
    source.members.clear();
  }
}

void drop_merged(std::vector<Row>& rows) {
  rows.erase(
      std::remove_if(rows.begin(), rows.end(), [](const Row& row) { return row.members.empty(); }),
      rows.end());
}

/// Cuts rising numbers into pieces that one pair of braces can say: runs of three or more are
/// counted, what lies between is listed, `max_choices` at a time.
std::vector<std::vector<std::size_t>> number_pieces(const std::vector<std::uint64_t>& numbers,
                                                    std::size_t max_choices) {
  std::vector<std::vector<std::size_t>> pieces;
  std::vector<std::size_t> listed;
  const auto flush = [&] {
    if (!listed.empty()) pieces.push_back(std::exchange(listed, {}));
  };
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - begin >= 3) {
      pieces.emplace_back();
      for (std::size_t i = begin; i < end; ++i) pieces.back().push_back(i);
    } else {
      for (std::size_t i = begin; i < end; ++i) {
        if (listed.size() == max_choices) flush();
        listed.push_back(i);
      }
    }
    begin = end;
  }
  flush();
  return pieces;
}

void fold_numbers(std::vector<Row>& rows, std::size_t position, const FoldOptions& options) {
  for (const std::vector<std::size_t>& bucket : buckets(rows, position, true)) {
    if (bucket.size() < 2) continue;
    std::vector<std::pair<std::uint64_t, std::size_t>> sorted;
    for (const std::size_t r : bucket)
      sorted.emplace_back(*canonical_number(rows[r].segments[position].text), r);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint64_t> numbers;
    for (const auto& entry : sorted) numbers.push_back(entry.first);
    for (const std::vector<std::size_t>& piece : number_pieces(numbers, options.max_choices)) {
      if (piece.size() < 2) continue;
      std::vector<std::size_t> from;
      std::vector<std::uint64_t> values;
      for (const std::size_t i : piece) {
        from.push_back(sorted[i].second);
        values.push_back(numbers[i]);
      }
      merge(rows, from, position, number_braces(values));
    }
  }
  drop_merged(rows);
}

void fold_names(std::vector<Row>& rows, std::size_t position, const FoldOptions& options) {
  for (std::vector<std::size_t> bucket : buckets(rows, position, false)) {
    if (bucket.size() < 2 || bucket.size() > options.max_choices) continue;
    const auto name = [&](std::size_t r) -> const std::string& {
      return rows[r].segments[position].text;
    };
    std::sort(bucket.begin(), bucket.end(),
              [&](std::size_t a, std::size_t b) { return natural_less(name(a), name(b)); });
    std::vector<std::string> names;
    for (const std::size_t r : bucket) names.push_back(name(r));
    if (std::any_of(names.begin(), names.end(), [](const auto& text) { return text.empty(); }))
      continue;
    std::string text = name_braces(names);
    Row preview = rows[bucket.front()];
    preview.segments[position] = {text, true};
    if (preview.pattern().size() <= options.max_width)
      merge(rows, bucket, position, std::move(text));
  }
  drop_merged(rows);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) noexcept {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    std::size_t a_end = i;
    std::size_t b_end = j;
    while (a_end < a.size() && is_digit(a[a_end])) ++a_end;
    while (b_end < b.size() && is_digit(b[b_end])) ++b_end;
    if (a_end - i != b_end - j) return a_end - i < b_end - j;
    const int order = a.substr(i, a_end - i).compare(b.substr(j, b_end - j));
    if (order != 0) return order < 0;
    i = a_end;
    j = b_end;
  }
  if ((i < a.size()) != (j < b.size())) return j < b.size();
  return a < b;  // they differ in leading zeros at most
}

std::vector<FoldedRow> fold_paths(const std::vector<FoldItem>& items, const FoldOptions& options) {
  std::vector<FoldedRow> out;
  std::vector<Row> rows;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Row row{split(items[i].path), {i}, &items[i].key};
    if (row.segments.empty()) {
      out.push_back({escape(items[i].path), {i}});
      continue;
    }
    depth = std::max(depth, row.segments.size());
    rows.push_back(std::move(row));
  }
  // Numbers first and from the right: experts fold inside a layer before layers fold.
  if (options.numbers)
    for (std::size_t position = depth; position-- > 0;) fold_numbers(rows, position, options);
  if (options.names)
    for (std::size_t position = depth; position-- > 0;) fold_names(rows, position, options);

  for (Row& row : rows) out.push_back({row.pattern(), std::move(row.members)});
  const auto before = [&](std::size_t a, std::size_t b) {
    return natural_less(items[a].path, items[b].path) || (items[a].path == items[b].path && a < b);
  };
  for (FoldedRow& row : out) std::sort(row.members.begin(), row.members.end(), before);
  std::sort(out.begin(), out.end(), [&](const FoldedRow& a, const FoldedRow& b) {
    return before(a.members.front(), b.members.front());
  });
  return out;
}

}  // namespace synps::cli
