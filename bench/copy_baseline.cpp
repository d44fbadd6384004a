// What a pack cannot do without, and nothing else: reads a file through the page cache into a
// reused buffer, and writes as many bytes as an artifact has to another, on the same number of
// threads and as durably.
//
//   copy_baseline INPUT OUTPUT OUTPUT_BYTES THREADS
//
// OUTPUT must not exist. It is allocated first, written at its offsets, synced, and renamed into
// place, and its folder is synced: the calls that a pack makes. What is written is what is in the
// buffer.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "synps/error.h"
#include "synps/file.h"
#include "synps/parallel.h"

namespace synps::bench {
namespace {

constexpr std::uint64_t kSlabBytes = 1u << 18;  ///< of input; fits a core's second-level cache

void copy(const std::string& input, const std::string& output, std::uint64_t output_bytes,
          unsigned threads) {
  const InputFile in(Os::posix(), input, ErrorCode::io);
  AtomicFile out(Os::posix(), output, {});
  out.allocate(output_bytes);
  const std::uint64_t slabs = std::max<std::uint64_t>(1, in.size() / kSlabBytes);
  // Slab i takes the share [i, i+1) ÷ slabs of both files.
  const auto begin_of = [slabs](std::uint64_t bytes, std::uint64_t slab) {
    return bytes / slabs * slab + std::min(slab, bytes % slabs);
  };
  const std::uint64_t most = std::max(in.size(), output_bytes) / slabs + 1;
  std::vector<std::vector<std::byte>> buffers(
      worker_count(threads, slabs), std::vector<std::byte>(static_cast<std::size_t>(most)));
  run_parallel(static_cast<unsigned>(buffers.size()), slabs,
               [&](unsigned worker, std::uint64_t slab) {
                 const std::span<std::byte> buffer(buffers[worker]);
                 const auto share = [&](std::uint64_t bytes) {
                   return buffer.first(begin_of(bytes, slab + 1) - begin_of(bytes, slab));
                 };
                 in.read(begin_of(in.size(), slab), share(in.size()));
                 out.write(begin_of(output_bytes, slab), share(output_bytes));
               });
  out.commit();
}

template <typename Number>
bool read_number(std::string_view digits, Number& number) {
  const char* const end = digits.data() + digits.size();
  const auto [last, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && last == end;
}

}  // namespace
}  // namespace synps::bench

int main(int argc, char** argv) {
  using namespace synps;
  std::uint64_t bytes = 0;
  unsigned threads = 0;
  if (argc != 5 || !bench::read_number(argv[3], bytes) || !bench::read_number(argv[4], threads) ||
      threads == 0) {
    fmt::print(stderr, "usage: copy_baseline INPUT OUTPUT OUTPUT_BYTES THREADS\n");
    return static_cast<int>(ErrorCode::usage);
  }
  try {
    bench::copy(argv[1], argv[2], bytes, threads);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "copy_baseline: error: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "copy_baseline: error: {}\n", error.what());
    return 1;
  }
}
