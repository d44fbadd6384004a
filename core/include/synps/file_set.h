#pragma once

#include <memory>
#include <string>
#include <vector>

#include "synps/file.h"

namespace synps {

/// Files of one folder that appear together: all are complete before the first gets its name. One
/// of them, the leader, gets its name last (an index of the others), and holds the lock for all
/// from the start. Without commit() nothing has a name, and all temporaries are removed.
class AtomicFileSet {
 public:
  /// Starts the leader. Throws as AtomicFile.
  AtomicFileSet(Os& os, std::string leader, AtomicFile::Options options);

  AtomicFile& leader() noexcept { return *leader_; }
  /// Starts another file, in the folder of the leader. The one before takes nothing more: it is
  /// synced, and keeps no descriptor but its lock's. Throws as AtomicFile.
  AtomicFile& next(std::string path);

  /// Gives every file its name, in the order of next(), the leader last, and syncs the folder.
  /// Throws as AtomicFile::commit(). When a name cannot be given, the names given before are taken
  /// away again where they were new; files that have replaced others stay, and the error names
  /// them.
  void commit();

 private:
  void seal_last();
  void publish(AtomicFile& file);
  void publish_all();
  std::string undo();

  struct Published {
    AtomicFile* file = nullptr;
    bool replaced = false;  ///< another file had the name
  };

  Os* os_;
  AtomicFile::Options options_;
  std::unique_ptr<AtomicFile> leader_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  std::vector<Published> published_;
};

}  // namespace synps
