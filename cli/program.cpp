#include "program.h"

#include <fmt/core.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "failures.h"
#include "logging.h"
#include "standard_streams.h"
#include "synps/artifact_index.h"
#include "synps/codec_registry.h"

namespace synps::cli {
namespace {

constexpr const char* kDescription =
    "synps turns model checkpoints into deployment artifacts under a written policy.";

constexpr const char* kFooter =
    "Examples:\n"
    "  synps plan model/ -p synps.toml                what packing would do, to the byte\n"
    "  synps pack model/ -p synps.toml -o model.synps\n"
    "  synps verify model.synps --against model/\n"
    "\n"
    "`synps COMMAND --help` tells more. Exit codes: 0 ok, 2 usage, 3 bad checkpoint, 4 I/O,\n"
    "5 corrupt artifact, 6 limit, 7 policy, 8 output exists or is busy, 9 codec package,\n"
    "70 internal error, 128+n stopped by signal n.";

/// The parser's layout, with room between the parts.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(34);
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
    label("REQUIRED", "(required)");
  }
  std::string make_description(const CLI::App* app) const override {
    return Formatter::make_description(app) + "\n";
  }
};

void add_common_options(CLI::App& app, CommonOptions& common) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.add_flag("-v,--verbose", common.verbose, "Say on standard error what is being done");
  app.add_flag("-q,--quiet", common.quiet, "No progress bar, and no warnings on standard error");
}

/// What the parser found wrong. It says of a wrong number of values only how many it wanted.
std::string fault_text(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const std::string option = text.substr(0, text.find(':'));
  return text.find("missing") != std::string::npos ? option + " needs a value"
                                                   : option + " is given more than once";
}

/// What to give an option instead of an empty value.
std::string wanted_value(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string name = option.get_name(true, false);
  const bool is_file = type == "FILE" || type == "CHECKPOINT" ||
                       (option.get_positional() && name != "PATH" && name != "COMMAND");
  const std::string what = is_file          ? "name a file"
                           : name == "PATH" ? "name a weight, by its path"
                                            : "give it a value";
  return option.get_required() ? what : what + ", or leave it out";
}

class Program {
 public:
  Program();
  int run(int argc, const char* const* argv);

 private:
  void parse(int argc, const char* const* argv);
  /// The command that was given, or null.
  const Command* chosen() const;
  int help(const std::string& name) const;
  void reject_leftovers() const;
  void reject_empty_values() const;
  [[noreturn]] void reject(const CLI::ParseError& error) const;
  std::vector<std::string> command_names() const;

  CLI::App app_{kDescription, "synps"};
  CommonOptions common_;
  std::vector<Command> commands_;
  CLI::App* help_ = nullptr;
  std::string help_about_;
};

Program::Program() {
  app_.footer(kFooter);
  app_.set_version_flag(
      "--version", fmt::format("synps {} (artifact format {})", SYNPS_VERSION, kArtifactVersion),
      "Print the version and exit");
  app_.require_subcommand(0, 1);
  for (const auto& make : {make_pack, make_plan_command, make_explain, make_check, make_init,
                           make_inspect, make_verify, make_diff, make_unpack, make_repack,
                           make_requantize, make_codecs, make_profiles, make_schema})
    commands_.push_back(make(app_, common_));
  help_ = app_.add_subcommand("help", "Print the help of a command");
  help_->add_option("COMMAND", help_about_, "The command; none: the program's own help")
      ->type_name("");

  // What a command line has too much is rejected by reject_leftovers(), with suggestions.
  app_.allow_extras();
  add_common_options(app_, common_);
  for (CLI::App* command : app_.get_subcommands({})) {
    command->allow_extras();
    command->group("Commands");
    add_common_options(*command, common_);
  }
}

int Program::run(int argc, const char* const* argv) {
  try {
    parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    write_output(app_.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    write_output(std::string(version.what()) + "\n");
    return 0;
  }
  set_up_logging(common_.verbose, common_.quiet);
  if (help_->parsed()) return help(help_about_);
  if (const Command* command = chosen()) return command->run();
  write_error(app_.help());
  throw usage_error("no command given");
}

void Program::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    reject_leftovers();
    reject(error);
  }
  reject_leftovers();
  reject_empty_values();
}

/// An empty value is most likely a variable that nobody set, and never a name.
void Program::reject_empty_values() const {
  const Command* command = chosen();
  if (command == nullptr) return;
  for (const CLI::Option* option : command->app->get_options())
    for (const std::string& value : option->results())
      if (value.empty())
        throw usage_error(fmt::format("{} has an empty value", option->get_name(false, true)),
                          wanted_value(*option));
}

const Command* Program::chosen() const {
  for (const Command& command : commands_)
    if (command.app->parsed()) return &command;
  return nullptr;
}

std::vector<std::string> Program::command_names() const {
  std::vector<std::string> names{"help"};
  for (const Command& command : commands_) names.push_back(command.app->get_name());
  return names;
}

Error unknown_command(const std::string& name, const std::vector<std::string>& names) {
  const std::optional<std::string> near = nearest(name, names);
  return usage_error("unknown command " + quote(name),
                     near ? "did you mean '" + *near + "'?" : "`synps --help` lists the commands");
}

int Program::help(const std::string& name) const {
  if (name.empty()) {
    // app_.help() would delegate to the `help` command.
    write_output(app_.get_formatter()->make_help(&app_, "synps", CLI::AppFormatMode::Normal));
    return 0;
  }
  for (const Command& command : commands_) {
    if (command.app->get_name() != name) continue;
    write_output(command.app->help("synps"));
    return 0;
  }
  if (name == "help") return help("");
  throw unknown_command(name, command_names());
}

/// Throws for the first argument that nothing took.
void Program::reject_leftovers() const {
  std::vector<std::string> leftovers = app_.remaining(true);
  std::erase(leftovers, "--");  // ends the options; what follows has been taken
  if (leftovers.empty()) return;
  const Command* command = chosen();
  const bool inside = command != nullptr || help_->parsed();
  const std::string& first = leftovers.front();
  if (first.size() < 2 || first[0] != '-') {
    if (!inside) throw unknown_command(first, command_names());
    throw usage_error("unexpected argument " + quote(first));
  }
  const CLI::App& app = command != nullptr ? *command->app : app_;
  const std::string name = first.substr(0, first.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& long_name : option->get_lnames()) names.push_back("--" + long_name);
  const std::optional<std::string> near =
      name.size() > 3 ? nearest(name, names) : std::optional<std::string>();
  throw usage_error(
      "unknown option " + quote(name),
      near ? "did you mean '" + *near + "'?"
           : fmt::format("`synps {}--help` lists the options", inside ? app.get_name() + " " : ""));
}

/// The parser's own errors in our form.
void Program::reject(const CLI::ParseError& error) const {
  const Command* command = chosen();
  throw usage_error(fault_text(error), fmt::format("see `synps {}--help`",
                                                   command ? command->app->get_name() + " " : ""));
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  return Program().run(argc, argv);
}

}  // namespace synps::cli
