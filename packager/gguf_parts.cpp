#include "gguf_parts.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <map>
#include <utility>

#include "shard_index.h"
#include "synps/error.h"
#include "synps/output_kind.h"

namespace synps {
namespace {

// Keys and names: llama.cpp's gguf-split and the GGUF specification's naming convention.
constexpr std::string_view kNumberKey = "split.no";  // from 0
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";  // in all parts
constexpr std::size_t kLeastDigits = 5;
constexpr std::size_t kMostDigits = 9;
constexpr std::uint64_t kMostParts = 65535;  // gguf-split counts them in 16 bits

/// The number at the end of `text`, which is cut off.
std::optional<std::uint64_t> cut_number(std::string_view& text) {
  const std::size_t last = text.find_last_not_of("0123456789");
  const std::size_t begin = last == text.npos ? 0 : last + 1;
  const std::string_view digits = text.substr(begin);
  if (digits.size() < kLeastDigits || digits.size() > kMostDigits) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  text.remove_suffix(digits.size());
  return number;
}

bool cut_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Problem key_problem(const GgufPart& part, std::string what, std::string_view key) {
  return {.code = ErrorCode::checkpoint,
          .file = part.file.path(),
          .what = std::move(what),
          .field = "key " + quote(key)};
}

/// The number under a `split.` key; nothing when there is no such key.
std::optional<std::uint64_t> split_number(const GgufPart& part, std::string_view key) {
  const GgufKeyValue* value = part.header.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto number = GgufValueReader(part.file).unsigned_integer(*value)) return number;
  Problem problem = key_problem(part, "a split key that is no whole number", key);
  problem.found = to_string(value->type);
  throw Error(std::move(problem));
}

/// Opens the other parts and checks that all are of one checkpoint.
class PartOpener {
 public:
  PartOpener(Os& os, GgufPart first_opened, GgufPartName name)
      : os_(os), name_(std::move(name)), problems_(first_opened.file.path()) {
    parts_.emplace(name_.number, std::move(first_opened));
  }

  std::vector<GgufPart> open_all() {
    for (std::uint64_t number = 1; number <= name_.count; ++number) {
      if (!parts_.contains(number)) open_one(number);
      if (const auto part = parts_.find(number); part != parts_.end()) check(part->second, number);
    }
    problems_.throw_if_any();
    check_tensors();
    problems_.throw_if_any();
    std::vector<GgufPart> all;
    for (auto& [number, part] : parts_) all.push_back(std::move(part));
    return all;
  }

 private:
  void open_one(std::uint64_t number) {
    const std::string path = name_.part(number);
    FileStatus status;
    if (os_.status(path, true, status) == -ENOENT) {
      problems_.add({.code = ErrorCode::checkpoint,
                     .file = name_.part(name_.number),
                     .what = "a part of the checkpoint is missing",
                     .field = fmt::format("part {} of {}", number, name_.count),
                     .found = "no such file",
                     .want = "the file " + quote(path),
                     .hint = "fetch it, it belongs to the checkpoint"});
      return;
    }
    try {
      InputFile file(os_, path);
      GgufHeader header = read_gguf_header(file);
      parts_.emplace(number, GgufPart{std::move(file), std::move(header)});
    } catch (const Error& error) {
      problems_.add(error);
    }
  }

  void check(const GgufPart& part, std::uint64_t number) {
    check_key(part, kNumberKey, number - 1, "the name says otherwise");
    check_key(part, kCountKey, name_.count, "the name says otherwise");
  }

  void check_key(const GgufPart& part, std::string_view key, std::uint64_t want, const char* why) {
    try {
      const auto found = split_number(part, key);
      if (found == want) return;
      Problem problem = key_problem(part, "a part that does not fit the others", key);
      problem.found = found ? fmt::format("{}", *found) : std::string("no such key");
      problem.want = fmt::format("{}: {}", want, why);
      problem.hint = "the file may have been renamed, or belong to another checkpoint";
      problems_.add(std::move(problem));
    } catch (const Error& error) {
      problems_.add(error);
    }
  }

  /// Every part says how many tensors all have together.
  void check_tensors() {
    std::uint64_t tensors = 0;
    for (const auto& [number, part] : parts_) tensors += part.header.tensors.size();
    for (const auto& [number, part] : parts_)
      check_key(part, kTensorsKey, tensors, "what the parts hold");
  }

  Os& os_;
  GgufPartName name_;
  ShardIndexProblems problems_;
  std::map<std::uint64_t, GgufPart> parts_;  ///< by number
};

}  // namespace

std::string GgufPartName::part(std::uint64_t part) const {
  return fmt::format("{}-{:05}-of-{:05}{}", prefix, part, count, ending);
}

std::optional<GgufPartName> parse_gguf_part_name(std::string_view path) {
  if (!is_gguf_name(path)) return std::nullopt;
  const std::string_view ending = path.substr(path.rfind('.'));
  std::string_view rest = path;
  rest.remove_suffix(ending.size());
  const auto count = cut_number(rest);
  if (!count || *count > kMostParts || !cut_suffix(rest, "-of-")) return std::nullopt;
  const auto number = cut_number(rest);
  if (!number || !cut_suffix(rest, "-") || *number == 0 || *number > *count) return std::nullopt;
  GgufPartName name{std::string(rest), *number, *count, std::string(ending)};
  if (name.part(*number) != path) return std::nullopt;  // more zeros than it should have
  return name;
}

bool is_gguf_split_key(std::string_view key) noexcept {
  return key == kNumberKey || key == kCountKey || key == kTensorsKey;
}

std::vector<GgufPart> open_gguf_parts(Os& os, const std::string& path) {
  InputFile file(os, path);
  GgufHeader header = read_gguf_header(file);
  std::vector<GgufPart> parts;
  parts.push_back({std::move(file), std::move(header)});
  const auto name = parse_gguf_part_name(path);
  const std::uint64_t count = split_number(parts.front(), kCountKey).value_or(0);
  if (name && (name->count > 1 || count > 1))
    return PartOpener(os, std::move(parts.front()), *name).open_all();
  if (count <= 1) return parts;
  Problem problem =
      key_problem(parts.front(), "a part of several, whose name does not say which", kCountKey);
  problem.found = fmt::format("{} parts", count);
  problem.want = "a name such as " + quote(GgufPartName{"model", 1, count}.part(1));
  problem.hint = "give the parts back the names that they had";
  throw Error(std::move(problem));
}

}  // namespace synps
