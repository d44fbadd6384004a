#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace synps::cli {

/// Options that every command has.
struct CommonOptions {
  bool verbose = false;
  bool quiet = false;
};

/// A command: its options, and what runs once they are parsed and returns the exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

// One a file. `program` and `common` outlive the command.
Command make_pack(CLI::App& program, const CommonOptions& common);
Command make_plan_command(CLI::App& program, const CommonOptions& common);
Command make_explain(CLI::App& program, const CommonOptions& common);
Command make_check(CLI::App& program, const CommonOptions& common);
Command make_init(CLI::App& program, const CommonOptions& common);
Command make_inspect(CLI::App& program, const CommonOptions& common);
Command make_verify(CLI::App& program, const CommonOptions& common);
Command make_diff(CLI::App& program, const CommonOptions& common);
Command make_unpack(CLI::App& program, const CommonOptions& common);
Command make_repack(CLI::App& program, const CommonOptions& common);
Command make_requantize(CLI::App& program, const CommonOptions& common);
Command make_codecs(CLI::App& program, const CommonOptions& common);
Command make_profiles(CLI::App& program, const CommonOptions& common);
Command make_schema(CLI::App& program, const CommonOptions& common);

}  // namespace synps::cli
