#include "synps/file_kind.h"

#include <array>

namespace synps {
namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view magic;
  std::string_view found;
  std::string_view hint;
};

constexpr auto kConvert = "convert it to safetensors first; pickles are not read"sv;

constexpr auto kTakesGguf = "inspect, plan, pack and verify take GGUF files"sv;

constexpr Kind kJson{{}, "JSON text"sv, "name the model's folder, or the file with its weights"sv};

constexpr std::array kKinds{
    Kind{"version https://git-lfs.github.com/spec/"sv, "a git-lfs pointer, not the file itself"sv,
         "fetch the file with `git lfs pull`"sv},
    Kind{"GGUF"sv, "a GGUF file"sv, {}},
    Kind{"PK\x03\x04"sv, "a zip archive, as PyTorch saves pickles"sv, kConvert},
    Kind{"\x80\x02"sv, "a Python pickle"sv, kConvert},
    Kind{"\x80\x03"sv, "a Python pickle"sv, kConvert},
    Kind{"\x80\x04"sv, "a Python pickle"sv, kConvert},
    Kind{"\x80\x05"sv, "a Python pickle"sv, kConvert},
    Kind{"\x89HDF\r\n\x1A\n"sv, "an HDF5 file"sv, "convert it to safetensors first"sv},
};

/// In a safetensors file the header's '{' follows the 8 bytes of its length, which may be any
/// number: one that spells "PK\x03\x04", too.
bool looks_like_safetensors(std::string_view head) {
  return head.size() > 8 && head[8] == '{';
}

/// What an object or an array starts with. A safetensors file whose length field reads so would
/// have a '{' behind that field.
bool looks_like_json(std::string_view head) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t open = head.find_first_not_of(kSpace);
  if (open == head.npos || (head[open] != '{' && head[open] != '[')) return false;
  const std::size_t next = head.find_first_not_of(kSpace, open + 1);
  return next == head.npos ||
         std::string_view("\"{}[]-0123456789tfn").find(head[next]) != head.npos;
}

[[noreturn]] void refuse(const Kind& kind, const std::string& file, const WantedKind& want) {
  const bool is_gguf = kind.magic == "GGUF"sv;
  throw Error({.code = want.code,
               .file = file,
               .what = "a file of another kind than wanted",
               .found = std::string(kind.found),
               .want = std::string(want.name),
               .hint = std::string(is_gguf && want.gguf_hint ? kTakesGguf : kind.hint)});
}

}  // namespace

void refuse_other_kinds(std::string_view head, const std::string& file, const WantedKind& want) {
  if (looks_like_safetensors(head)) return;
  for (const Kind& kind : kKinds)
    if (head.starts_with(kind.magic)) refuse(kind, file, want);
  if (!want.json && looks_like_json(head)) refuse(kJson, file, want);
}

}  // namespace synps
