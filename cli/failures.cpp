#include "failures.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>

#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "signals.h"
#include "standard_streams.h"
#include "synps/file.h"
#include "synps/pack.h"
#include "text.h"

namespace synps::cli {
namespace {

std::string_view signal_name(int number) noexcept {
  switch (number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "a signal";
  }
}

int interrupted(int number) {
  write_error(fmt::format("synps: stopped by {}\n", signal_name(number)));
  return kSignalBase + number;
}

int output_lost(int error) {
  // Whoever read the output has seen enough (`synps inspect … | head`): as silent as a program
  // that SIGPIPE kills.
  if (error == EPIPE) return kSignalBase + SIGPIPE;
  write_error(fmt::format("synps: error: standard output: cannot write: {}\n", errno_text(error)));
  return static_cast<int>(ErrorCode::io);
}

int reported(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    write_error(error_lines(error.problems()));
    return static_cast<int>(error.code());
  } catch (const Cancelled&) {
    return interrupted(pending_signal());
  } catch (const Interrupted& signal) {
    return interrupted(signal.number);
  } catch (const OutputLost& lost) {
    return output_lost(lost.error);
  } catch (const std::system_error& error) {
    write_error(fmt::format("synps: error: the operating system refused: {}\n",
                            escape_for_display(error.code().message())));
    return static_cast<int>(ErrorCode::io);
  }
}

}  // namespace

std::string error_lines(const std::vector<Problem>& problems) {
  std::string out;
  for (std::size_t i = 0; i < problems.size() && i < kShownProblems; ++i)
    out += "synps: error: " + to_string(problems[i]) + "\n";
  if (problems.size() > kShownProblems)
    out += fmt::format("synps: error: ... and {}\n",
                       counted(problems.size() - kShownProblems, "more problem"));
  return out;
}

int run_reporting(const std::function<int()>& body) noexcept {
  // Nothing in here may allocate once memory ran out, so the sentences are constants.
  try {
    return reported(body);
  } catch (const std::bad_alloc&) {
    write_error("synps: error: out of memory; use fewer --jobs, or free some memory\n");
    return static_cast<int>(ErrorCode::limit);
  } catch (const std::exception& error) {
    write_error("synps: internal error: ");
    write_error(error.what());
    write_error("\n");
  } catch (...) {
    write_error("synps: internal error: unknown exception\n");
  }
  return kInternalError;
}

Error usage_error(std::string what, std::string hint) {
  Problem problem;
  problem.code = ErrorCode::usage;
  problem.what = std::move(what);
  problem.hint = std::move(hint);
  return Error(std::move(problem));
}

}  // namespace synps::cli
