#include "failures.h"
#include "program.h"
#include "signals.h"
#include "standard_streams.h"

int main(int argc, char** argv) {
  using namespace synps::cli;
  occupy_standard_descriptors();
  allow_many_descriptors();
  install_signal_handlers();
  const int code = run_reporting([&] { return run_program(argc, argv); });
  const int closed = run_reporting([] {
    close_output();
    return 0;
  });
  return code != 0 ? code : closed;
}
