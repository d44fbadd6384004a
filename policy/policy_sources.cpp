#include "policy_sources.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "problem_list.h"
#include "synps/file.h"
#include "toml_guard.h"
#include "toml_reader.h"

namespace synps {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<PolicySource> parse_source(std::string text, const std::string& file) {
  guard_toml(text, file);
  toml::table root = read_toml(text, TomlText(text), file);
  return std::make_unique<PolicySource>(file, std::move(text), std::move(root));
}

// Whether `path` names something in `folder` or below it; both have no links, dots or dot-dots.
bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

std::string folder_of(const std::string& file) {
  const std::string parent = fs::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Reads the files that a policy extends, one after the other.
class BaseReader {
 public:
  BaseReader(PolicySources& sources, Os& os) : sources_(sources), os_(os) {}

  void read() {
    remember(sources_.files.front()->file);
    while (read_next()) {
    }
  }

 private:
  // False when there is no further base, or none that can be had.
  bool read_next() {
    const PolicySource& source = *sources_.files.back();
    const toml::node* node = source.root.get("extends");
    if (node == nullptr || !node->is_string()) return false;  // the schema's to report
    const std::string written = node->as_string()->get();
    Problem problem{.field = "extends", .found = quote(written)};
    const std::string path = find(source.file, written, problem);
    if (problem.what.empty()) problem = read_base(path, std::move(problem));
    if (problem.what.empty()) return true;
    if (problem.line == 0) {
      const SourcePlace place = place_of(node->source());
      if (problem.code == ErrorCode::usage) problem.code = ErrorCode::policy;
      problem.file = source.file;
      problem.line = place.line;
      problem.column = place.column;
    }
    sources_.problems.push_back(std::move(problem));
    return false;
  }

  // The base's path; `problem.what` is filled in when there is none.
  std::string find(const std::string& file, const std::string& written, Problem& problem) {
    if (written.empty() || written.find('\0') != std::string::npos) {
      problem.what = "no file has such a name";
      problem.want = "a file relative to this one";
      return {};
    }
    if (sources_.files.size() == kMaxPolicyFiles) {
      problem.code = ErrorCode::limit;
      problem.what = "too many files extend one another";
      problem.want = fmt::format("at most {} files", kMaxPolicyFiles);
      return {};
    }
    std::string path = path_beside(file, written);
    if (fs::path(written).is_absolute()) return path;
    if (leaves_folder(file, written, path)) {
      problem.what = "the file to extend lies outside this file's folder";
      problem.want = "a path inside the folder, or an absolute one";
      problem.hint = "write the whole path if that file is meant";
    }
    return path;
  }

  // By its words, or through a link. A file that is a link itself may also use the folder that it
  // really is in.
  bool leaves_folder(const std::string& file, const std::string& written, const std::string& path) {
    const fs::path plain = fs::path(written).lexically_normal();
    if (plain.begin() != plain.end() && *plain.begin() == "..") return true;
    std::string real;
    if (os_.real_path(path, real) != 0) return false;  // opening it says what is wrong
    std::string folder;
    if (os_.real_path(folder_of(file), folder) == 0 && is_inside(real, folder)) return false;
    std::string real_file;
    if (os_.real_path(file, real_file) != 0) return true;
    return !is_inside(real, fs::path(real_file).parent_path());
  }

  // Adds the base to the sources. Returns what is wrong, or `blank` when nothing is.
  Problem read_base(const std::string& path, Problem blank) {
    try {
      std::string text = read_policy_text(path, os_);
      if (!remember(path)) {
        blank.what = "the files extend one another in a circle";
        std::vector<std::string> names;
        for (const auto& source : sources_.files) names.push_back(escape_for_display(source->file));
        names.push_back(escape_for_display(path));
        blank.found = fmt::format("{}", fmt::join(names, " -> "));
        blank.hint = "take the `extends` out of one of them";
        return blank;
      }
      sources_.files.push_back(parse_source(std::move(text), path));
      return blank;
    } catch (const Error& error) {
      const Problem& first = error.problems().front();
      if (first.line != 0) return first;  // it is in the base
      blank.code = first.code == ErrorCode::limit ? ErrorCode::limit : ErrorCode::policy;
      blank.what = fmt::format("the file to extend cannot be used: {}", first.what);
      blank.found += fmt::format(", which is {}", escape_for_display(path));
      if (!first.found.empty()) blank.found += fmt::format(": {}", first.found);
      blank.hint = "the path is relative to the folder of this file";
      blank.want = first.want;
      return blank;
    }
  }

  // False for a file that is there already.
  bool remember(const std::string& path) {
    FileStatus status;
    if (os_.status(path, true, status) != 0) return true;
    if (std::find(identities_.begin(), identities_.end(), status.identity) != identities_.end())
      return false;
    identities_.push_back(status.identity);
    return true;
  }

  PolicySources& sources_;
  Os& os_;
  std::vector<FileIdentity> identities_;
};

}  // namespace

std::string read_policy_text(const std::string& path, Os& os) {
  const InputFile file(os, path, ErrorCode::io);
  if (file.size() > kMaxPolicyBytes) {
    ProblemList problems(path);
    problems.add({},
                 {.what = "the policy file is too large",
                  .found = fmt::format("{} bytes", file.size()),
                  .want = fmt::format("at most {} bytes", kMaxPolicyBytes)},
                 ErrorCode::limit);
    problems.throw_all();
  }
  const std::vector<std::byte> bytes = file.read_all();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string path_beside(const std::string& file, const std::string& path) {
  return (fs::path(file).parent_path() / path).string();
}

PolicySources read_policy_sources(std::string text, const std::string& file, Os& os) {
  PolicySources sources;
  sources.files.push_back(parse_source(std::move(text), file));
  BaseReader(sources, os).read();
  return sources;
}

}  // namespace synps
