#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "synps/artifact_reader.h"
#include "synps/error.h"
#include "temp_dir.h"

namespace synps::testing {

/// The problems of the file, whether they keep it from opening or not.
inline std::vector<Problem> problems_of(const std::string& path) {
  try {
    return ArtifactReader(path).check_all();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::artifact);
    return error.problems();
  }
}

/// A file whose bytes are changed in place, one at a time.
class Patient {
 public:
  explicit Patient(std::string path)
      : path_(std::move(path)), bytes_(read_file(path_)), file_(::open(path_.c_str(), O_RDWR)) {
    REQUIRE(file_ >= 0);
  }
  ~Patient() { ::close(file_); }

  std::size_t size() const { return bytes_.size(); }
  std::vector<Problem> with_byte(std::size_t at, char value) {
    put(at, value);
    auto problems = problems_of(path_);
    put(at, bytes_[at]);
    return problems;
  }
  std::vector<Problem> with_flip(std::size_t at, unsigned bit) {
    return with_byte(at, static_cast<char>(bytes_[at] ^ (1 << bit)));
  }

 private:
  void put(std::size_t at, char value) {
    REQUIRE(::pwrite(file_, &value, 1, static_cast<off_t>(at)) == 1);
  }

  std::string path_;
  std::string bytes_;
  int file_;
};

}  // namespace synps::testing
