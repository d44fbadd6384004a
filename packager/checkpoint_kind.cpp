#include "checkpoint_kind.h"

#include <array>

#include "synps/error.h"

namespace synps {
namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view magic;
  std::string_view found;
  std::string_view hint;
};

constexpr auto kConvert = "convert it to safetensors first; pickles are not read"sv;

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

}  // namespace

void refuse_other_kinds(std::string_view head, const std::string& file, const std::string& want) {
  if (looks_like_safetensors(head)) return;
  for (const Kind& kind : kKinds)
    if (head.starts_with(kind.magic))
      throw Error({.code = ErrorCode::checkpoint,
                   .file = file,
                   .what = "a file of another kind than wanted",
                   .found = std::string(kind.found),
                   .want = want,
                   .hint = std::string(kind.hint)});
}

}  // namespace synps
