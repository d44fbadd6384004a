#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "checkpoint_files.h"
#include "shard_index.h"

namespace synps {
namespace {

/// A tensor where a shard really has it.
struct Holding {
  std::string_view tensor;
  std::size_t shard = 0;  ///< index into ShardIndex::shards
};

/// Compares an index with the shards it names. Collects problems; opens what it can.
class ShardOpener {
 public:
  ShardOpener(const InputFile& file, const ShardIndex& index, ShardIndexProblems& problems)
      : file_(file), index_(index), problems_(problems) {
    const std::size_t slash = file.path().rfind('/');
    if (slash != std::string::npos) folder_ = file.path().substr(0, slash + 1);
  }

  void open_all() {
    shards_.resize(index_.shards.size());
    for (std::size_t i = 0; i < shards_.size(); ++i) open_one(i);
    check_identities();
  }

  /// Walks the tensors of the index and of the shards side by side, both by name.
  void check_tensors() {
    const std::vector<Holding> holdings = sorted_holdings();
    auto holding = holdings.begin();
    auto tensor = index_.tensors.begin();
    while (holding != holdings.end() || tensor != index_.tensors.end()) {
      const bool listed = tensor != index_.tensors.end() &&
                          (holding == holdings.end() || tensor->name <= holding->tensor);
      const std::string_view name = listed ? std::string_view(tensor->name) : holding->tensor;
      const auto first = holding;
      while (holding != holdings.end() && holding->tensor == name) ++holding;
      check_tensor(name, listed ? &*tensor : nullptr, {first, holding});
      if (listed) ++tensor;
    }
  }

  std::vector<CheckpointFile> take() {
    std::vector<CheckpointFile> files;
    files.reserve(shards_.size());
    for (auto& shard : shards_) files.push_back(std::move(*shard));
    return files;
  }

 private:
  Problem problem(std::string what, std::string field) const {
    return {.code = ErrorCode::checkpoint,
            .file = file_.path(),
            .what = std::move(what),
            .field = std::move(field)};
  }

  void open_one(std::size_t i) {
    const std::string& name = index_.shards[i];
    const std::string path = folder_ + name;
    FileStatus status;
    if (file_.os().status(path, true, status) == -ENOENT) {
      Problem missing = problem("a shard is missing", "shard " + quote(name));
      missing.found = "no such file";
      missing.want = "the file " + quote(path);
      missing.hint = "fetch it, it belongs to the checkpoint";
      problems_.add(std::move(missing));
      return;
    }
    try {
      shards_[i].emplace(open_checkpoint_file(file_.os(), path, name));
    } catch (const Error& error) {
      problems_.add(error);
    }
  }

  /// Two names for one file would give two tensors the same bytes.
  void check_identities() {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> known;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      if (!shards_[i]) continue;
      const FileIdentity& identity = shards_[i]->file.identity();
      const auto seen = known.try_emplace({identity.device, identity.inode}, i);
      if (seen.second) continue;
      Problem same =
          problem("two shards are one file under two names", "shard " + quote(index_.shards[i]));
      same.found = "the same file as " + quote(index_.shards[seen.first->second]);
      same.want = "a file of its own";
      problems_.add(std::move(same));
      shards_[i].reset();  // so that not every tensor is reported as being in two shards
    }
  }

  std::vector<Holding> sorted_holdings() const {
    std::vector<Holding> holdings;
    for (std::size_t i = 0; i < shards_.size(); ++i)
      if (shards_[i])
        for (const SafetensorsEntry& entry : shards_[i]->header.entries)
          holdings.push_back({entry.name, i});
    std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
      return std::tie(a.tensor, a.shard) < std::tie(b.tensor, b.shard);
    });
    return holdings;
  }

  void check_tensor(std::string_view name, const ShardIndex::Tensor* listed,
                    std::span<const Holding> holders) {
    if (holders.size() > 1)
      return add_tensor(name, "a tensor is in two shards", holders, "one shard");
    if (listed == nullptr)
      return add_tensor(name, "a tensor of a shard is not in the shard index", holders,
                        "an entry in weight_map");
    const std::string want = quote(index_.shards[listed->shard]);
    // A shard that could not be opened has its own problem; it may well hold the tensor.
    if (holders.empty() && shards_[listed->shard])
      return add_tensor(name, "a tensor is in no shard", holders, want);
    if (!holders.empty() && holders.front().shard != listed->shard)
      add_tensor(name, "a tensor is not in the shard that the index names", holders, want);
  }

  void add_tensor(std::string_view name, std::string what, std::span<const Holding> holders,
                  const std::string& want) {
    problems_.add([&] {
      Problem made = problem(std::move(what), "tensor " + quote(name));
      for (const Holding& holder : holders)
        made.found += (made.found.empty() ? "" : " and ") + quote(index_.shards[holder.shard]);
      made.want = want;
      return made;
    });
  }

  const InputFile& file_;
  const ShardIndex& index_;
  ShardIndexProblems& problems_;
  std::string folder_;
  std::vector<std::optional<CheckpointFile>> shards_;  ///< none where opening failed
};

}  // namespace

std::vector<CheckpointFile> open_shards(const InputFile& file) {
  ShardIndexProblems problems(file.path());
  const ShardIndex index = read_shard_index(file, problems);
  ShardOpener opener(file, index, problems);
  opener.open_all();
  opener.check_tensors();
  problems.throw_if_any();
  return opener.take();
}

}  // namespace synps
