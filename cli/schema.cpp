
#include "commands.h"
#include "options.h"
#include "standard_streams.h"
#include "synps/policy_json_schema.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "With it an editor completes, describes and checks what is written in a policy file. Taplo, "
    "and\n"
    "Even Better TOML for VS Code, take it when this is the first line of synps.toml:\n"
    "\n"
    "  #:schema ./synps.schema.json\n"
    "\n"
    "It knows the names of keys and their values. Patterns, codecs and everything else that the\n"
    "policy says is checked by `synps check`.\n"
    "\n"
    "Example:\n"
    "  synps schema > synps.schema.json";

}  // namespace

Command make_schema(CLI::App& program, const CommonOptions&) {
  CLI::App& command =
      add_command(program, "schema", "Print the JSON Schema of synps.toml, for editors", kFooter);
  return {&command, [] {
            write_output(policy_json_schema());
            return 0;
          }};
}

}  // namespace synps::cli
