#include "synps/file_set.h"

#include <cerrno>
#include <utility>

#include "os_calls.h"
#include "synps/error.h"

namespace synps {

AtomicFileSet::AtomicFileSet(Os& os, std::string leader, AtomicFile::Options options)
    : os_(&os),
      options_(std::move(options)),
      leader_(std::make_unique<AtomicFile>(os, std::move(leader), options_)) {}

void AtomicFileSet::seal_last() {
  if (files_.empty()) return;
  files_.back()->seal();
  files_.back()->close_folder();
}

AtomicFile& AtomicFileSet::next(std::string path) {
  seal_last();
  files_.push_back(std::make_unique<AtomicFile>(*os_, std::move(path), options_));
  return *files_.back();
}

void AtomicFileSet::publish(AtomicFile& file) {
  FileStatus status;
  // Where it cannot be told, the name is not taken away again.
  const bool replaced = os_->status(file.path(), false, status) != -ENOENT;
  file.publish();
  published_.push_back({&file, replaced});
}

void AtomicFileSet::publish_all() {
  for (const auto& file : files_) publish(*file);
  // The leader's name must not reach the disk before those of the files that it names.
  if (const int error = files_.empty() ? 0 : leader_->sync_folder(); error < 0)
    throw io_error(leader_->path(), "cannot write the folder to disk", error);
  publish(*leader_);
}

/// Takes back what can be taken back. Returns what is in place all the same.
std::string AtomicFileSet::undo() {
  std::string in_place;
  for (const Published& each : published_) {
    if (each.replaced || !each.file->unpublish()) {
      if (!in_place.empty()) in_place += ", ";
      in_place += quote(each.file->path());
    }
    each.file->release();
  }
  published_.clear();
  return in_place;
}

void AtomicFileSet::commit() {
  seal_last();
  leader_->seal();
  published_.reserve(files_.size() + 1);
  try {
    publish_all();
  } catch (const Error& error) {
    const std::string in_place = undo();
    if (in_place.empty()) throw;
    std::vector<Problem> problems = error.problems();
    std::string& hint = problems.back().hint;
    if (!hint.empty()) hint += "; ";
    hint += "new already, and complete: ";
    hint += in_place;
    throw Error(std::move(problems));
  } catch (...) {
    undo();
    throw;
  }
  const int synced = leader_->sync_folder();
  for (const Published& each : published_) each.file->release();
  if (synced < 0)
    throw io_error(leader_->path(),
                   "the files are complete, but their names may not survive a "
                   "power loss",
                   synced);
}

}  // namespace synps
