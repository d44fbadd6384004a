#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace synps::testing {

/// Bytes of all mappings of a file that are in this process's page tables, from /proc/self/smaps.
inline std::uint64_t resident_bytes(const std::string& path) {
  std::ifstream smaps("/proc/self/smaps");
  if (!smaps) throw std::runtime_error("no /proc/self/smaps");
  std::uint64_t bytes = 0;
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first.find('-') != std::string::npos && first.back() != ':') {
      ours = line.size() >= path.size() &&
             line.compare(line.size() - path.size(), path.size(), path) == 0;
    } else if (ours && first == "Rss:") {
      std::uint64_t kib = 0;
      words >> kib;
      bytes += kib * 1024;
    }
  }
  return bytes;
}

}  // namespace synps::testing
