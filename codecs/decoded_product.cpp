#include "decoded_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "synps/kernel_call.h"

namespace synps {
namespace {

constexpr std::uint64_t kPieceValues = 64 * 1024;

/// Tasks must not throw: what went wrong first is thrown when all have returned.
class Failure {
 public:
  bool happened() const noexcept { return happened_.load(std::memory_order_relaxed); }
  void record() noexcept {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    happened_.store(true, std::memory_order_relaxed);
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> happened_ = false;
  std::exception_ptr error_;
};

/// Rows [first, first + count) of all products.
void multiply_piece(const Kernel& f32_matmul, const DecodedMatrix& weights, std::uint64_t vectors,
                    std::span<const float> x, std::span<float> y, std::uint64_t first,
                    std::uint64_t count) {
  std::vector<float> values(count * weights.columns);
  weights.decode(first, count, values);
  const std::array<std::span<const std::byte>, 1> components{std::as_bytes(std::span(values))};
  SerialExecutor serial;
  std::vector<float> products(vectors * count);
  matmul(f32_matmul, {count, weights.columns, components}, vectors, x, products, serial);
  for (std::uint64_t v = 0; v < vectors; ++v)
    std::copy_n(products.data() + v * count, count, y.data() + v * weights.rows + first);
}

}  // namespace

void multiply_decoded(const Kernel& f32_matmul, const DecodedMatrix& weights, std::uint64_t vectors,
                      std::span<const float> x, std::span<float> y, Executor& executor) {
  const std::uint64_t piece = std::max<std::uint64_t>(1, kPieceValues / weights.columns);
  const std::uint64_t pieces = weights.rows / piece + (weights.rows % piece != 0 ? 1 : 0);
  Failure failure;
  const auto run = [&](std::uint64_t unit) noexcept {
    if (failure.happened()) return;
    try {
      const std::uint64_t first = unit * piece;
      multiply_piece(f32_matmul, weights, vectors, x, y, first,
                     std::min(piece, weights.rows - first));
    } catch (...) {
      failure.record();
    }
  };
  executor.run(pieces, Task(run));
  failure.rethrow();
}

}  // namespace synps
