#include "synps/codec_package.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <string_view>
#include <utility>

#include "package_codec.h"
#include "package_scope.h"
#include "package_table.h"
#include "package_trial.h"
#include "synps/checked.h"
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

/// A name that no package can have is not looked for.
void check_name(const std::string& name, const std::string& path) {
  if (!is_package_name(name))
    fail(path, "no codec package can have that name", quote(name),
         "lower-case letters, digits and underscores, fewer than 64");
}

/// Size of the file. Before the dynamic linker sees it: it would wait at a FIFO for ever.
std::uint64_t check_is_file(const std::string& path) {
  if (path.empty()) fail(path, "the path of the codec package is empty", "\"\"", "a shared object");
  if (path.find('\0') != std::string::npos)
    fail(path, "the path of the codec package has a NUL in it", quote(path), "a shared object");
  FileStatus status;
  if (const int result = Os::posix().status(path, true, status); result != 0)
    fail(path, "cannot open the codec package", errno_text(result));
  if (status.kind != FileStatus::Kind::regular)
    fail(path, "the codec package is not a file",
         status.kind == FileStatus::Kind::directory ? "a folder" : "something else",
         "a shared object");
  return status.size;
}

/// A segment past the end of the file would be mapped all the same, and reading it is a bus error.
/// What is no shared object at all is left to the dynamic linker to refuse.
void check_is_complete(const std::string& path, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header{};
  const int native = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != native ||
      header.e_phentsize != sizeof(ElfW(Phdr)))
    return;
  std::uint64_t wanted = 0;
  file.seekg(static_cast<std::streamoff>(std::min<std::uint64_t>(header.e_phoff, size)));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment))
      fail(path, "the codec package is cut short", fmt::format("{} bytes", size));
    if (segment.p_type != PT_LOAD) continue;
    const auto end = checked_add(segment.p_offset, segment.p_filesz);
    wanted = std::max(wanted, end.value_or(~std::uint64_t{0}));
  }
  if (wanted > size)
    fail(path, "the codec package is cut short", fmt::format("{} bytes", size),
         fmt::format("at least {}", wanted));
}

/// What the dynamic linker says, without the path that the message has already.
std::string linker_text(const std::string& path) {
  const char* said = dlerror();
  std::string_view text = said != nullptr ? said : "no reason";
  if (text.substr(0, path.size()) == path) text.remove_prefix(path.size());
  if (text.substr(0, 2) == ": ") text.remove_prefix(2);
  return std::string(text);
}

/// Loading runs the object's constructors. dlopen is declared to throw nothing, so that a call of
/// it by its name ends the program when one of them throws: it is called through a pointer that the
/// compiler cannot see through.
void* open_library(const std::string& path, const std::string& file) {
  void* (*volatile open)(const char*, int) = &dlopen;
  const PackageScope scope(path, "loading it");
  std::string thrown;
  try {
    return open(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  } catch (const std::exception& error) {
    thrown = exception_text(error);
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  fail(path, "the codec package threw an exception while it was loaded", thrown);
}

synps_codec_package_function entry_of(const std::string& path) {
  // With a slash in it the name is a path, and no library path is searched.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = open_library(path, file);
  if (library == nullptr) fail(path, "cannot load the codec package", linker_text(file));
  void* symbol = dlsym(library, SYNPS_CODEC_PACKAGE_SYMBOL);
  if (symbol == nullptr)
    fail(path, "the file is no codec package for this synps",
         "no function " SYNPS_CODEC_PACKAGE_SYMBOL);
  return reinterpret_cast<synps_codec_package_function>(symbol);
}

const synps_codec_package* table_of(const std::string& path) {
  const synps_codec_package_function entry = entry_of(path);
  const PackageScope scope(path, SYNPS_CODEC_PACKAGE_SYMBOL);
  std::string thrown;
  try {
    return entry(SYNPS_CODEC_ABI_VERSION);
  } catch (const std::exception& error) {
    thrown = exception_text(error);
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  fail(path, "the codec package threw an exception from " SYNPS_CODEC_PACKAGE_SYMBOL, thrown);
}

std::vector<std::shared_ptr<const Codec>> load(const std::string& name, const std::string& path) {
  std::vector<std::shared_ptr<const Codec>> codecs;
  for (PackageCodecTable& table : read_package_tables(table_of(path), name, path)) {
    codecs.push_back(make_package_codec(std::move(table)));
    try_package_codec(*codecs.back());
  }
  return codecs;
}

}  // namespace

std::vector<std::shared_ptr<const Codec>> load_codec_package(const std::string& name,
                                                             const std::string& path) {
  check_name(name, path);
  check_is_complete(path, check_is_file(path));
  try {
    return load(name, path);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error({.code = ErrorCode::limit,
                 .file = path,
                 .what = "no memory to load and try the codec package"});
  } catch (const std::exception& error) {
    fail(path, "the codec package cannot be tried", error.what());
  }
}

void throw_codec_fault(const CodecInfo& codec, std::string_view weight, std::string_view what,
                       std::string found, std::string want) {
  throw Error({.code = ErrorCode::package,
               .file = codec.file,
               .what = fmt::format("codec {}: {}", codec.id(), what),
               .field = std::string(weight),
               .found = std::move(found),
               .want = std::move(want),
               .hint = "the codec package is at fault, not the file or the policy"});
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
