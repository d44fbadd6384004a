#include "signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "synps/error.h"

namespace synps::cli {
namespace {

std::atomic<bool> graceful{false};
std::atomic<int> pending{0};
static_assert(std::atomic<int>::is_always_lock_free, "read and written in signal handlers");

void on_stop_signal(int number) {
  // After a first one that was noted, the program is on its way out.
  int first = 0;
  if (!pending.compare_exchange_strong(first, number, std::memory_order_relaxed)) return;
  if (!graceful.load(std::memory_order_relaxed)) _exit(128 + number);
}

void on_bus_error(int number, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) {
    constexpr std::string_view kText =
        "synps: error: a file became shorter, or could not be read, while it was in use\n";
    [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kText.data(), kText.size());
    _exit(static_cast<int>(ErrorCode::io));
  }
  signal(number, SIG_DFL);
  raise(number);
}

void handle_stop_signal(int number) {
  struct sigaction old {};
  sigaction(number, nullptr, &old);
  if (old.sa_handler == SIG_IGN) return;  // started by nohup, or in the background by a shell
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) handle_stop_signal(number);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

int pending_signal() noexcept {
  return pending.load(std::memory_order_relaxed);
}

GracefulStop::GracefulStop() noexcept {
  graceful.store(true);
}

GracefulStop::~GracefulStop() {
  graceful.store(false);
}

}  // namespace synps::cli
