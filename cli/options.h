#pragma once

#include <string>

namespace CLI {
class App;
}

namespace synps::cli {

// What commands are described with. CLI11 is a library of headers, and long to compile, so that
// few files include it.

CLI::App& add_command(CLI::App& program, const char* name, const char* description,
                      const char* footer);

enum class Need : unsigned char { required, optional };

/// An argument that is known by its place.
void add_argument(CLI::App& command, const char* name, std::string& value, const char* description,
                  Need need = Need::required);

/// `names`: "-o,--output"; `type`: what stands for its value in the help.
void add_text_option(CLI::App& command, const char* names, std::string& value, const char* type,
                     const char* description, Need need = Need::optional);

void add_flag(CLI::App& command, const char* names, bool& value, const char* description);

}  // namespace synps::cli
