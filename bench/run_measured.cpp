// Runs a command and tells how long it took and what it used.
//
//   run_measured REPORT COMMAND [ARGUMENT …]
//
// Writes to the file REPORT, and ends as the command did:
//   {"seconds":…,"user_seconds":…,"system_seconds":…,"max_rss_bytes":…,"status":…}
// Seconds are the clock's, from before the command starts until it has ended. A process inherits
// the peak memory of whoever starts it: this program is small, where a script's interpreter would
// hide what a command of a few MiB takes.

#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

double clock_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

[[noreturn]] void become(char** command) {
  execvp(command[0], command);
  std::fprintf(stderr, "run_measured: %s: %s\n", command[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: run_measured REPORT COMMAND [ARGUMENT ...]\n");
    return 2;
  }
  std::FILE* const report = std::fopen(argv[1], "we");
  if (report == nullptr) {
    std::fprintf(stderr, "run_measured: %s: %s\n", argv[1], std::strerror(errno));
    return 4;
  }
  const double begin = clock_seconds();
  const pid_t child = fork();
  if (child == 0) become(argv + 2);
  int status = 0;
  rusage usage{};
  pid_t ended = child;
  if (child > 0) do {
      ended = wait4(child, &status, 0, &usage);
    } while (ended < 0 && errno == EINTR);
  const double seconds = clock_seconds() - begin;
  if (ended < 0) {
    std::fprintf(stderr, "run_measured: %s\n", std::strerror(errno));
    return 4;
  }
  // As a shell tells it.
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::fprintf(report,
               "{\"seconds\":%.9f,\"user_seconds\":%.6f,\"system_seconds\":%.6f,"
               "\"max_rss_bytes\":%lld,\"status\":%d}\n",
               seconds, seconds_of(usage.ru_utime), seconds_of(usage.ru_stime),
               static_cast<long long>(usage.ru_maxrss) * 1024, code);
  return std::fclose(report) == 0 ? code : 4;
}
