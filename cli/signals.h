#pragma once

namespace synps::cli {

/// Thrown where work stops because of a signal; the program then exits with 128 + `number`.
struct Interrupted {
  int number = 0;
};

/// SIGINT, SIGTERM and SIGHUP (those that were not ignored when the program started) end the
/// program with 128+n at once, or, within a GracefulStop, are noted. SIGPIPE and SIGXFSZ are
/// ignored: the write that fails says so. SIGBUS from a file that shrank while it was mapped ends
/// the program with a sentence.
void install_signal_handlers();

/// The first signal that was noted, or 0.
int pending_signal() noexcept;

/// While one lives, signals are noted rather than obeyed: for work that has to clean up.
class GracefulStop {
 public:
  GracefulStop() noexcept;
  ~GracefulStop();
  GracefulStop(const GracefulStop&) = delete;
  GracefulStop& operator=(const GracefulStop&) = delete;
};

}  // namespace synps::cli
