#include "synps/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

std::string mib(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

Error does_not_fit(const MemoryNeed& need, std::uint64_t ceiling, const std::string& file) {
  Problem problem{.code = ErrorCode::limit, .file = file};
  problem.what = "the work does not fit the memory that it may take, with one worker";
  problem.found = fmt::format("{} bytes", ceiling);
  problem.want = fmt::format("at least {} bytes: {} for the program, {} for the index, {} a worker",
                             need.with_workers(1), mib(need.program_bytes), mib(need.index_bytes),
                             mib(need.worker_bytes));
  problem.hint = "raise --max-memory";
  if (!need.long_rows_in.empty())
    problem.hint += "; or store " + quote(need.long_rows_in) +
                    ", of which a worker holds a whole row, with a codec that cuts rows";
  return Error(std::move(problem));
}

}  // namespace

std::uint64_t MemoryNeed::with_workers(unsigned workers) const noexcept {
  return saturating_add(saturating_add(program_bytes, index_bytes),
                        saturating_mul(worker_bytes, workers));
}

unsigned workers_within(const MemoryNeed& need, unsigned wanted, std::uint64_t ceiling,
                        const std::string& file) {
  if (ceiling == 0) return wanted;
  if (need.with_workers(1) > ceiling) throw does_not_fit(need, ceiling, file);
  const std::uint64_t left = ceiling - need.program_bytes - need.index_bytes;
  const std::uint64_t fitting = need.worker_bytes == 0 ? wanted : left / need.worker_bytes;
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, fitting));
}

}  // namespace synps
