#include "synps/codec_package.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "package_codec.h"
#include "package_table.h"
#include "package_trial.h"
#include "synps/codec_abi.h"
#include "synps/error.h"
#include "synps/file.h"
#include "synps/os.h"

namespace synps {
namespace {

[[noreturn]] void fail(const std::string& path, std::string what, std::string found,
                       std::string want = {}, std::string hint = {}) {
  throw Error({.code = ErrorCode::package,
               .file = path,
               .what = std::move(what),
               .found = std::move(found),
               .want = std::move(want),
               .hint = std::move(hint)});
}

/// Before the dynamic linker sees it: it would wait at a FIFO for ever.
void check_is_file(const std::string& path) {
  FileStatus status;
  if (const int result = Os::posix().status(path, true, status); result != 0)
    fail(path, "cannot open the codec package", errno_text(result));
  if (status.kind != FileStatus::Kind::regular)
    fail(path, "the codec package is not a file",
         status.kind == FileStatus::Kind::directory ? "a folder" : "something else",
         "a shared object");
}

/// What the dynamic linker says, without the path that the message has already.
std::string linker_text(const std::string& path) {
  const char* said = dlerror();
  std::string_view text = said != nullptr ? said : "no reason";
  if (text.substr(0, path.size()) == path) text.remove_prefix(path.size());
  if (text.substr(0, 2) == ": ") text.remove_prefix(2);
  return std::string(text);
}

synps_codec_package_function entry_of(const std::string& path) {
  // With a slash in it the name is a path, and no library path is searched.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) fail(path, "cannot load the codec package", linker_text(file));
  void* symbol = dlsym(library, SYNPS_CODEC_PACKAGE_SYMBOL);
  if (symbol == nullptr)
    fail(path, "the file is no codec package for this synps",
         "no function " SYNPS_CODEC_PACKAGE_SYMBOL);
  return reinterpret_cast<synps_codec_package_function>(symbol);
}

const synps_codec_package* table_of(const std::string& path) {
  const synps_codec_package_function entry = entry_of(path);
  std::string thrown;
  try {
    return entry(SYNPS_CODEC_ABI_VERSION);
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  fail(path, "the codec package threw an exception from " SYNPS_CODEC_PACKAGE_SYMBOL, thrown);
}

}  // namespace

std::vector<std::shared_ptr<const Codec>> load_codec_package(const std::string& name,
                                                             const std::string& path) {
  check_is_file(path);
  std::vector<std::shared_ptr<const Codec>> codecs;
  for (PackageCodecTable& table : read_package_tables(table_of(path), name, path)) {
    codecs.push_back(make_package_codec(std::move(table)));
    try_package_codec(*codecs.back());
  }
  return codecs;
}

void add_codec_package(CodecRegistry& registry, const std::string& name, const std::string& path) {
  for (const Codec* codec : registry.all()) {
    if (codec->info().package != name) continue;
    const std::string& file = codec->info().file;
    fail(path, fmt::format("there is a codec package {} already", quote(name)),
         file.empty() ? "one that is built in" : file, "one package of a name");
  }
  for (std::shared_ptr<const Codec>& codec : load_codec_package(name, path))
    registry.add(std::move(codec));
}

}  // namespace synps
