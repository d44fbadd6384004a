#include "options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace synps::cli {

CLI::App& add_command(CLI::App& program, const char* name, const char* description,
                      const char* footer) {
  CLI::App* const command = program.add_subcommand(name, description);
  command->footer(footer);
  return *command;
}

void add_argument(CLI::App& command, const char* name, std::string& value, const char* description,
                  Need need) {
  command.add_option(name, value, description)->type_name("")->required(need == Need::required);
}

void add_text_option(CLI::App& command, const char* names, std::string& value, const char* type,
                     const char* description, Need need) {
  command.add_option(names, value, description)->type_name(type)->required(need == Need::required);
}

void add_flag(CLI::App& command, const char* names, bool& value, const char* description) {
  command.add_flag(names, value, description);
}

}  // namespace synps::cli
