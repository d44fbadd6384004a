#include "trace_file.h"

#include "options.h"
#include "synps/error.h"
#include "synps/file.h"

namespace synps::cli {
namespace {

/// The file's name in its folder, links of the folder followed.
std::string resolved(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string real;
  if (Os::posix().real_path(folder, real) < 0) real = folder;
  return real + "/" + path.substr(slash + 1);
}

}  // namespace

bool same_file_name(const std::string& a, const std::string& b) {
  return resolved(a) == resolved(b);
}

void add_trace_option(CLI::App& command, std::string& path) {
  add_text_option(command, "--trace", path, "FILE",
                  "Write what each conversion took, for a browser's trace viewer or Perfetto");
}

void check_trace(const TraceFile& trace) {
  if (trace.path.empty()) return;
  for (const std::string& output : trace.outputs)
    if (same_file_name(output, trace.path))
      throw Error({.code = ErrorCode::output,
                   .file = trace.path,
                   .what = "the trace is to be the same file as the output",
                   .hint = "choose another name for it"});
  AtomicFile::check(Os::posix(), trace.path, {trace.force, trace.inputs});
}

std::unique_ptr<ChromeTraceSink> open_trace(const TraceFile& trace) {
  if (trace.path.empty()) return nullptr;
  check_trace(trace);
  return std::make_unique<ChromeTraceSink>(trace.path, trace.force, trace.inputs);
}

}  // namespace synps::cli
