#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <toml++/toml.h>

#include "synps/os.h"
#include "synps/policy.h"
#include "toml_text.h"

namespace synps {

/// Files that one policy may be made of: itself and those it extends.
inline constexpr std::size_t kMaxPolicyFiles = 16;

/// One file of a policy, parsed as TOML.
struct PolicySource {
  PolicySource(std::string name, std::string content, toml::table table)
      : file(std::move(name)), text(std::move(content)), lines(text), root(std::move(table)) {}
  PolicySource(const PolicySource&) = delete;
  PolicySource& operator=(const PolicySource&) = delete;

  const std::string file;
  const std::string text;
  const TomlText lines;  // refers to text
  const toml::table root;
};

struct PolicySources {
  std::vector<std::unique_ptr<PolicySource>> files;  ///< the file itself, then its bases in turn
  std::vector<Problem> problems;                     ///< of finding and reading the bases
};

/// The whole text of a policy file. Throws Error(io), for what is no regular file too; Error(limit)
/// over 1 MiB.
std::string read_policy_text(const std::string& path, Os& os);

/// Parses `text`, and every file that is extended from there on, up to the first that cannot be
/// had. Throws Error when `text` itself is no TOML, with that problem alone.
PolicySources read_policy_sources(std::string text, const std::string& file, Os& os);

/// `path` as written in `file`: relative ones are joined to the file's folder.
std::string path_beside(const std::string& file, const std::string& path);

}  // namespace synps
