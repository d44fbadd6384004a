#include "package_scope.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "synps/error.h"

namespace synps {
namespace {

constexpr std::size_t kMostText = 1000;  // bytes of an exception's text

// What runs on this thread; null: nothing of a package. Of types without destructors, so that they
// are there while the process ends.
thread_local const std::string* running_file = nullptr;
thread_local const char* running_function = nullptr;

/// Threads that may call exit() at one time. Each takes handlers off one list, and a thread that
/// finds none left ends the process with its own code: there is a handler for every thread.
constexpr int kMostExits = 1024;

extern "C" void synps_package_called_exit() {
  if (running_file == nullptr) return;
  static std::atomic_flag said;
  if (said.test_and_set())
    for (;;) ::pause();  // another thread has come here first, and ends the process
  const std::string text = "synps: error: " + escape_for_display(*running_file) +
                           ": the codec package called exit (" + running_function + ")\n";
  // Nobody is left to hear of a failure.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(static_cast<int>(ErrorCode::package));
}

void watch_exit() noexcept {
  [[maybe_unused]] static const bool kRegistered = [] {
    int failures = 0;
    for (int i = 0; i < kMostExits; ++i) failures += std::atexit(synps_package_called_exit);
    return failures == 0;
  }();
}

}  // namespace

PackageScope::PackageScope(const std::string& file, const char* function) noexcept
    : file_before_(running_file), function_before_(running_function) {
  watch_exit();
  std::fegetenv(&environment_);
  std::fesetenv(FE_DFL_ENV);
  running_file = &file;
  running_function = function;
}

PackageScope::~PackageScope() {
  running_file = file_before_;
  running_function = function_before_;
  std::fesetenv(&environment_);
}

std::string exception_text(const std::exception& thrown) {
  const char* text = thrown.what();
  if (text == nullptr) return {};
  std::string_view cut(text, ::strnlen(text, kMostText + 1));
  if (cut.size() <= kMostText) return std::string(cut);
  cut = cut.substr(0, kMostText);
  while (!cut.empty() && (static_cast<unsigned char>(cut.back()) & 0xC0) == 0x80)
    cut.remove_suffix(1);  // of a character that is cut
  if (!cut.empty() && static_cast<unsigned char>(cut.back()) >= 0xC0) cut.remove_suffix(1);
  return std::string(cut) + "…";
}

}  // namespace synps
