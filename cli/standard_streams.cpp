#include "standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "signals.h"
#include "synps/error.h"

namespace synps::cli {
namespace {

/// Bytes written, or -1 with errno; waits for a descriptor that does not block.
ssize_t write_some(int descriptor, std::string_view text) noexcept {
  const ssize_t written = write(descriptor, text.data(), text.size());
  if (written >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return written;
  pollfd wait{descriptor, POLLOUT, 0};
  if (poll(&wait, 1, -1) < 0) return -1;
  return 0;
}

}  // namespace

void occupy_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // Opened the wrong way round on purpose. The lowest free number is this one.
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != descriptor) _exit(static_cast<int>(ErrorCode::io));
  }
}

void allow_many_descriptors() {
  rlimit limits{};
  if (getrlimit(RLIMIT_NOFILE, &limits) != 0) return;
  limits.rlim_cur = limits.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limits);  // if it may not be: what needs them says so
}

void write_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write_some(STDOUT_FILENO, text);
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw OutputLost{errno};
    } else if (pending_signal() != 0) {
      throw Interrupted{pending_signal()};
    }
  }
}

void close_output() {
  if (close(STDOUT_FILENO) != 0 && errno != EINTR && errno != EBADF) throw OutputLost{errno};
}

void write_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write_some(STDERR_FILENO, text);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace synps::cli
