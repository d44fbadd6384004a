#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec.h"
#include "synps/codec_registry.h"

namespace synps {

/// Loads the shared object `path`, which must be the codec package `name` by its own account, and
/// returns its codecs; their info().file is `path`. The package's interface is synps/codec_abi.h.
///
/// A `path` without a slash is a file of the working folder: no library path is searched. What the
/// package says about itself is checked here, and every codec makes a small trial, so that a
/// broken package is found before any work is done. Every later call checks what the package
/// answers, its buffers have guard bytes, and what goes wrong is an Error(package) that names the
/// package, its file and the function.
///
/// Loading runs the object's code in this process, with all its rights: load only what you trust.
/// A package that has been loaded stays in memory until the process ends, because what it may have
/// registered there (destructors, thread-local data) cannot be told.
///
/// Code of a package never changes the floating-point environment of the thread that calls it.
///
/// Throws Error(package); Error(limit) when there is no memory to try the package in.
std::vector<std::shared_ptr<const Codec>> load_codec_package(const std::string& name,
                                                             const std::string& path);

/// load_codec_package(), added to `registry`. Throws Error(package), too, when the registry has a
/// package of that name, built in or from another file: an artifact names its codecs by package,
/// and one name must not mean two things.
void add_codec_package(CodecRegistry& registry, const std::string& name, const std::string& path);

/// Throws Error(package): a codec broke its contract. `weight` is a path, or empty; `what` follows
/// the codec's name.
[[noreturn]] void throw_codec_fault(const CodecInfo& codec, std::string_view weight,
                                    std::string_view what, std::string found = {},
                                    std::string want = {});

}  // namespace synps
