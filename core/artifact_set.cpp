#include "synps/artifact_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "synps/error.h"
#include "synps/folder.h"
#include "synps/output_kind.h"
#include "synps/shard_name.h"

namespace synps {
namespace {

constexpr std::size_t kMaxTold = 50;
constexpr std::string_view kIndexEnding = ".index.json";

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string join(const std::string& folder, const std::string& name) {
  if (folder.empty() || folder.ends_with('/')) return folder + name;
  return folder + "/" + name;
}

bool is_folder(Os& os, const std::string& path) {
  FileStatus status;
  return os.status(path, true, status) == 0 && status.kind == FileStatus::Kind::directory;
}

/// Whether the file is an artifact's shard index; false for what is no regular file.
bool is_shard_index(const std::string& path, Os& os) {
  FileStatus status;
  if (os.status(path, true, status) < 0 || status.kind != FileStatus::Kind::regular) return false;
  return is_artifact_shard_index(InputFile(os, path, ErrorCode::artifact));
}

/// Of the names in a folder those of artifacts' shard indexes.
std::vector<std::string> shard_indexes(const std::string& folder,
                                       const std::vector<std::string>& names, Os& os) {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (name.ends_with(kIndexEnding) && is_shard_index(join(folder, name), os))
      found.push_back(name);
  return found;
}

/// Names that look like shards of an artifact, the first of which is one; no other is opened.
std::vector<std::string> lone_shards(const std::string& folder,
                                     const std::vector<std::string>& names, Os& os) {
  std::vector<std::string> shards;
  for (const std::string& name : names)
    if (parse_shard_name(name)) shards.push_back(name);
  if (shards.empty() || !ArtifactReader::recognises(join(folder, shards.front()), os)) return {};
  return shards;
}

[[noreturn]] void refuse_lone_shards(const std::string& folder,
                                     const std::vector<std::string>& shards) {
  Problem problem;
  problem.code = ErrorCode::artifact;
  problem.file = folder;
  problem.what = "the folder holds shards of an artifact, and no shard index";
  problem.found = quote(shards.front());
  if (shards.size() > 1) problem.found += fmt::format(" and {} more", shards.size() - 1);
  problem.want = quote(shard_index_name(parse_shard_name(shards.front())->artifact));
  problem.hint =
      "copy it to the shards: it belongs to the artifact; a shard by itself can be named";
  throw Error(std::move(problem));
}

std::string index_in_folder(const std::string& folder, Os& os) {
  const std::vector<std::string> names = visible_names(folder);
  const std::vector<std::string> found = shard_indexes(folder, names, os);
  if (found.size() == 1) return join(folder, found.front());
  if (found.empty())
    if (const auto shards = lone_shards(folder, names, os); !shards.empty())
      refuse_lone_shards(folder, shards);
  Problem problem;
  problem.code = ErrorCode::artifact;
  problem.file = folder;
  problem.what = found.empty() ? "the folder holds no shard index of an artifact"
                               : "the folder holds shard indexes of several artifacts";
  for (const std::string& name : found) {
    if (!problem.found.empty()) problem.found += ", ";
    problem.found += quote(name);
  }
  problem.want = "one";
  problem.hint = found.empty() ? "name the artifact's file" : "name the one that is meant";
  throw Error(std::move(problem));
}

Problem index_problem(const InputFile& file, std::string what, std::string field) {
  return {.code = ErrorCode::artifact,
          .file = file.path(),
          .what = std::move(what),
          .field = std::move(field)};
}

/// Opens the shards that an index names, and compares the two.
class ShardOpener {
 public:
  ShardOpener(const InputFile& file, const ArtifactShards& index, Os& os)
      : file_(file), index_(index), os_(os), folder_(folder_of(file.path())) {}

  std::vector<std::unique_ptr<ArtifactReader>> open() {
    for (std::size_t i = 0; i < index_.shards.size(); ++i) open_one(i);
    check_identities();
    throw_problems();  // the others are about what shards hold
    check_entries();
    check_agreement();
    throw_problems();
    return std::move(files_);
  }

 private:
  void add(Problem problem) {
    if (problems_.size() < kMaxTold)
      problems_.push_back(std::move(problem));
    else
      ++untold_;
  }

  void throw_problems() {
    if (problems_.empty()) return;
    if (untold_ != 0)
      problems_.push_back(
          index_problem(file_, fmt::format("{} more problems like these", untold_), ""));
    throw Error(std::move(problems_));
  }

  std::string name(std::size_t i) const { return quote(index_.shards[i].file); }

  void open_one(std::size_t i) {
    const std::string path = folder_ + index_.shards[i].file;
    files_.emplace_back();
    FileStatus status;
    if (os_.status(path, true, status) == -ENOENT) {
      Problem missing = index_problem(file_, "a shard is missing", "shard " + name(i));
      missing.found = "no such file";
      missing.want = "the file " + quote(path);
      missing.hint = "copy it to the others: it belongs to the artifact";
      add(std::move(missing));
      return;
    }
    try {
      files_[i] = std::make_unique<ArtifactReader>(path, os_);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::io) throw;
      for (const Problem& problem : error.problems()) add(problem);
      return;
    }
    check_digest(i);
  }

  /// The digest of a shard's index covers all of the shard, so no other pack's file has it.
  void check_digest(std::size_t i) {
    const std::string& found = files_[i]->metadata().at("synps.index");
    const std::string want = to_hex(index_.shards[i].index);
    if (found == want) return;
    Problem stale = index_problem(file_, "a shard is not the one that was packed with the others",
                                  "shard " + name(i));
    stale.found = quote(found);
    stale.want = "synps.index " + quote(want);
    stale.hint = "it is of another run; copy or pack all shards and the index again";
    for (const ArtifactShards::Shard& other : index_.shards)
      if (found == to_hex(other.index)) {
        stale.what = "a shard has the contents of another";
        stale.found = "what " + quote(other.file) + " was packed with: " + stale.found;
        stale.hint = "the files' names were exchanged, or one was copied over the other";
        break;
      }
    add(std::move(stale));
  }

  /// Two names for one file would give every weight of it twice.
  void check_identities() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i] == nullptr) continue;
      const FileIdentity& identity = files_[i]->file().identity();
      const auto seen = known.try_emplace({identity.device, identity.inode}, i);
      if (seen.second) continue;
      Problem same =
          index_problem(file_, "two shards are one file under two names", "shard " + name(i));
      same.found = "the same file as " + name(seen.first->second);
      same.want = "a file of its own";
      add(std::move(same));
    }
  }

  /// Walks the entries of the index and of the shards side by side, both by name.
  void check_entries() {
    ArtifactShards held;
    for (std::size_t i = 0; i < files_.size(); ++i)
      held.add(index_.shards[i].file, {}, files_[i]->index());
    std::sort(held.entries.begin(), held.entries.end(), [](const auto& a, const auto& b) {
      return std::tie(a.name, a.shard) < std::tie(b.name, b.shard);
    });
    auto holder = held.entries.begin();
    auto listed = index_.entries.begin();
    while (holder != held.entries.end() || listed != index_.entries.end()) {
      const bool is_listed = listed != index_.entries.end() &&
                             (holder == held.entries.end() || listed->name <= holder->name);
      const std::string entry = is_listed ? listed->name : holder->name;
      const auto first = holder;
      while (holder != held.entries.end() && holder->name == entry) ++holder;
      check_entry(entry, is_listed ? &*listed : nullptr, {first, holder});
      if (is_listed) ++listed;
    }
    if (held.total_bytes == index_.total_bytes) return;
    Problem size =
        index_problem(file_, "the shards' entries have another size in all", "metadata.total_size");
    size.found = fmt::format("{} bytes", held.total_bytes);
    size.want = fmt::format("{} bytes", index_.total_bytes);
    add(std::move(size));
  }

  void check_entry(const std::string& entry, const ArtifactShards::Entry* listed,
                   std::span<const ArtifactShards::Entry> holders) {
    if (holders.size() > 1) return add_entry(entry, "an entry is in two shards", holders, "one");
    if (listed == nullptr)
      return add_entry(entry, "an entry of a shard is not in the shard index", holders,
                       "a field of weight_map");
    const std::string want = name(listed->shard);
    if (holders.empty()) return add_entry(entry, "an entry is in no shard", holders, want);
    if (holders.front().shard != listed->shard)
      add_entry(entry, "an entry is not in the shard that the index names", holders, want);
  }

  void add_entry(const std::string& entry, std::string what,
                 std::span<const ArtifactShards::Entry> holders, std::string want) {
    Problem problem = index_problem(file_, std::move(what), "entry " + quote(entry));
    for (const ArtifactShards::Entry& holder : holders) {
      if (!problem.found.empty()) problem.found += " and ";
      problem.found += name(holder.shard);
    }
    problem.want = std::move(want);
    add(std::move(problem));
  }

  /// What every shard says of the whole artifact.
  void check_agreement() {
    for (std::size_t i = 1; i < files_.size(); ++i) {
      const bool same = files_[i]->source_metadata() == files_[0]->source_metadata() &&
                        files_[i]->index().values == files_[0]->index().values;
      if (same) continue;
      Problem other = index_problem(file_, "a shard's metadata or values are not the others'",
                                    "shard " + name(i));
      other.want = "those of " + name(0);
      add(std::move(other));
    }
  }

  const InputFile& file_;
  const ArtifactShards& index_;
  Os& os_;
  std::string folder_;
  std::vector<std::unique_ptr<ArtifactReader>> files_;  ///< null where opening failed
  std::vector<Problem> problems_;
  std::uint64_t untold_ = 0;
};

}  // namespace

ArtifactSet::ArtifactSet(const std::string& path, Os& os) : path_(path) {
  const std::string source = is_folder(os, path) ? index_in_folder(path, os) : path;
  if (source.ends_with(kIndexEnding)) {
    open_shards(source, os);
    merge();
  } else {
    files_.push_back(std::make_unique<ArtifactReader>(source, os));
  }
}

bool ArtifactSet::recognises(const std::string& path, Os& os) {
  if (!is_folder(os, path))
    return path.ends_with(kIndexEnding) ? is_shard_index(path, os)
                                        : ArtifactReader::recognises(path, os);
  const std::vector<std::string> names = visible_names(path);
  const std::vector<std::string> found = shard_indexes(path, names, os);
  if (found.empty()) {
    // An artifact whose index is missing, unless there is something else that may be meant.
    const std::vector<std::string> shards = lone_shards(path, names, os);
    return !shards.empty() && std::none_of(names.begin(), names.end(), [](const auto& name) {
      return is_gguf_name(name) || (name.ends_with(".safetensors") && !parse_shard_name(name));
    });
  }
  if (found.size() != 1) return false;
  const std::string artifact = found.front().substr(0, found.front().size() - kIndexEnding.size());
  return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
    return (name.ends_with(".safetensors") || is_gguf_name(name)) && !is_shard_name(name, artifact);
  });
}

void ArtifactSet::open_shards(const std::string& index, Os& os) {
  shard_index_ = std::make_unique<InputFile>(os, index, ErrorCode::artifact);
  const ArtifactShards shards = read_artifact_shards(*shard_index_);
  files_ = ShardOpener(*shard_index_, shards, os).open();
  for (const ArtifactShards::Shard& shard : shards.shards) names_.push_back(shard.file);
}

void ArtifactSet::merge() {
  std::vector<std::pair<const StoredWeight*, std::uint32_t>> all;
  for (std::size_t i = 0; i < files_.size(); ++i)
    for (const StoredWeight& weight : files_[i]->index().weights)
      all.emplace_back(&weight, static_cast<std::uint32_t>(i));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first->weight.path < b.first->weight.path;
  });
  const auto twice = std::adjacent_find(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first->weight.path == b.first->weight.path;
  });
  if (twice != all.end()) {
    Problem problem =
        index_problem(*shard_index_, "a weight is in two shards", twice->first->weight.path);
    problem.found = quote(names_[twice->second]) + " and " + quote(names_[(twice + 1)->second]);
    problem.want = "one";
    throw Error(std::move(problem));
  }
  merged_ = std::make_unique<ArtifactIndex>();
  merged_->values = files_[0]->index().values;
  merged_->weights.reserve(all.size());
  places_.reserve(all.size());
  for (const auto& [weight, file] : all) {
    merged_->weights.push_back(*weight);
    places_.push_back(file);
    if (merged_->zstd.empty()) merged_->zstd = files_[file]->index().zstd;
  }
}

std::uint64_t ArtifactSet::file_bytes() const noexcept {
  std::uint64_t bytes = shard_index_ != nullptr ? shard_index_->size() : 0;
  for (const auto& file : files_) bytes += file->file().size();
  return bytes;
}

std::vector<FileIdentity> ArtifactSet::inputs() const {
  std::vector<FileIdentity> inputs;
  if (shard_index_ != nullptr) inputs.push_back(shard_index_->identity());
  for (const auto& file : files_) inputs.push_back(file->file().identity());
  return inputs;
}

const StoredWeight* ArtifactSet::find(std::string_view path) const noexcept {
  const auto& weights = index().weights;
  const auto at = std::lower_bound(weights.begin(), weights.end(), path,
                                   [](const StoredWeight& weight, std::string_view wanted) {
                                     return weight.weight.path < wanted;
                                   });
  return at != weights.end() && at->weight.path == path ? &*at : nullptr;
}

std::map<std::string, std::string> ArtifactSet::metadata() const {
  std::map<std::string, std::string> metadata = files_[0]->metadata();
  if (is_sharded())  // the others are of one shard
    for (const char* key : {"synps.index", "synps.summary"}) metadata.erase(key);
  return metadata;
}

/// The shard index must be, byte for byte, what its shards imply.
void ArtifactSet::check_shard_index(std::vector<Problem>& problems) const {
  ArtifactShards implied;
  for (std::size_t i = 0; i < files_.size(); ++i)
    // A digest that is there, and well-formed: checked when the file was opened.
    implied.add(names_[i], *digest_from_hex(files_[i]->metadata().at("synps.index")),
                files_[i]->index());
  implied.sort();
  const std::string json = to_json(implied);
  const std::vector<std::byte> found = shard_index_->read_all();
  const auto bytes = std::as_bytes(std::span(json));
  if (std::equal(found.begin(), found.end(), bytes.begin(), bytes.end())) return;
  Problem problem =
      index_problem(*shard_index_, "the shard index is not what its shards imply", "");
  problem.hint = "it is damaged; make or copy it again";
  problems.push_back(std::move(problem));
}

std::vector<Problem> ArtifactSet::check_all(const CodecRegistry* codecs,
                                            const std::function<void(std::uint64_t)>& progress,
                                            unsigned jobs) const {
  std::vector<Problem> problems;
  if (is_sharded()) {
    check_shard_index(problems);
    if (progress) progress(shard_index_->size());
  }
  for (const auto& file : files_)
    for (Problem& problem : file->check_all(codecs, progress, jobs))
      problems.push_back(std::move(problem));
  return problems;
}

std::vector<Problem> ArtifactSet::check_values(const std::function<void(std::uint64_t)>& progress,
                                               unsigned jobs) const {
  std::vector<Problem> problems;
  for (const auto& file : files_)
    for (Problem& problem : file->check_values(progress, jobs))
      problems.push_back(std::move(problem));
  return problems;
}

}  // namespace synps
