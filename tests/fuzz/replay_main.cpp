// Runs a harness over files and folders of files, without a fuzzer: each file as it is, cut short
// at every length, and with single bits turned over. Arguments that begin with '-' are libFuzzer's
// and are ignored.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_support.h"

namespace {

/// Variants of one file: enough for small files in full, a sample of large ones.
constexpr std::size_t kMaxCuts = 512;
constexpr std::size_t kMaxFlips = 2048;

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// From memory of exactly its size, so that a sanitizer sees every read past its end.
void run(const std::string& input) {
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::size_t step_of(std::size_t count, std::size_t most) {
  return std::max<std::size_t>(1, count / most);
}

void run_variants(const std::string& input) {
  run(input);
  for (std::size_t size = 0; size < input.size(); size += step_of(input.size(), kMaxCuts))
    run(input.substr(0, size));
  const std::size_t bits = 8 * input.size();
  for (std::size_t bit = 0; bit < bits; bit += step_of(bits, kMaxFlips)) {
    std::string flipped = input;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    run(flipped);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    for (const auto& path : files_of(argv[i])) {
      std::ifstream in(path, std::ios::binary);
      if (!in) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        return 1;
      }
      std::printf("%s\n", path.filename().c_str());
      std::fflush(stdout);
      run_variants({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
      ++count;
    }
  }
  std::printf("%zu files\n", count);
  return count == 0 ? 1 : 0;
}
