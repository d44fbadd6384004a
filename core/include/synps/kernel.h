#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "synps/form.h"
#include "synps/kernel_call.h"

namespace synps {

/// What a kernel computes.
enum class KernelOp : std::uint8_t {
  matvec,     ///< y = W x: decoded weights, f32 activations
  matmul,     ///< the same for a few vectors x, with the bits of matvec for each
  matvec_q8,  ///< y = W x with activations rounded to 8 bits a block
};

/// The machines that kernels are written for.
enum class Target : std::uint8_t {
  cpu_portable,  ///< any: scalar code, which defines the bits
  cpu_avx2,      ///< x86-64 with AVX2, FMA and F16C, or AVX-512
  cpu_neon,      ///< AArch64
};

/// What a person asks for; resolved by KernelRegistry::capabilities().
enum class TargetRequest : std::uint8_t {
  cpu,  ///< what all of the targets feed on, whatever this machine is
  cpu_portable,
  cpu_avx2,
  cpu_neon,
  native,  ///< this machine's best target
};

std::string_view to_string(KernelOp op) noexcept;            ///< "matvec"
std::string_view to_string(Target target) noexcept;          ///< "cpu-avx2"
std::string_view to_string(TargetRequest request) noexcept;  ///< "cpu", "cpu-avx2", "native"
std::optional<KernelOp> kernel_op_from(std::string_view name) noexcept;
std::optional<Target> target_from(std::string_view name) noexcept;
std::optional<TargetRequest> target_request_from(std::string_view name) noexcept;
std::span<const Target> all_targets() noexcept;

/// What a kernel is found by.
struct KernelKey {
  KernelOp op = KernelOp::matvec;
  std::string codec{};  ///< `package:export`
  Order order = Order::rows1;
  Target target = Target::cpu_portable;

  bool operator==(const KernelKey&) const = default;
  std::strong_ordering operator<=>(const KernelKey&) const = default;
};
std::string to_string(const KernelKey& key);  ///< "matvec q8_0:q8_0 rows8 cpu-avx2"

/// A kernel, registered once. That it is there is what makes a target capable.
struct Kernel {
  KernelKey key{};
  bool dense = false;  ///< of a codec that stores one element a value
  /// Its order is the one that the benchmark shows to be fastest on its target. Set only where
  /// there is a choice.
  bool wanted = false;
  std::uint32_t activation_block = 0;  ///< of matvec_q8: elements that share a scale
  std::size_t components = 1;          ///< that it reads
  KernelRowBytes row_bytes = nullptr;
  KernelRun run = nullptr;  ///< null: this build or this machine lacks the target

  bool runnable() const noexcept { return run != nullptr; }
};

/// What the kernels of a target feed on: a plain value, for decisions about forms.
class Capabilities {
 public:
  bool empty() const noexcept { return entries_.empty(); }
  bool feeds(KernelOp op, std::string_view codec, Order order) const noexcept;
  /// Some kernel does.
  bool feeds(std::string_view codec, Order order) const noexcept;
  /// The order that kernels for this codec run fastest on: one that some of them want and none of
  /// another order does; else rows1, or what there is instead. Nothing without a kernel.
  std::optional<Order> wanted_order(std::string_view codec) const noexcept;

  struct Entry {
    KernelOp op = KernelOp::matvec;
    std::string codec{};
    Order order = Order::rows1;
    bool wanted = false;

    bool operator==(const Entry&) const = default;
  };
  const std::vector<Entry>& entries() const noexcept { return entries_; }  ///< sorted

  bool operator==(const Capabilities&) const = default;

 private:
  friend class KernelRegistry;
  std::vector<Entry> entries_;
};

/// The kernels that a program knows, those for other machines included. Filled once, then only read
/// (from any number of threads). An empty one is valid: then weights are decoded.
class KernelRegistry {
 public:
  /// Throws Error(package) when the key is taken.
  void add(Kernel kernel);

  /// The kernel of exactly this key, or null.
  const Kernel* find(const KernelKey& key) const noexcept;
  /// The best one that runs here: that of native() or of a target that every machine has; or null.
  const Kernel* find_runnable(KernelOp op, std::string_view codec, Order order) const noexcept;

  /// All, by key.
  const std::vector<Kernel>& all() const noexcept { return kernels_; }
  std::vector<KernelKey> keys() const;
  bool empty() const noexcept { return kernels_.empty(); }

  /// The kernels that `keep` returns true for, as a smaller device might have them.
  KernelRegistry only(const std::function<bool(const Kernel&)>& keep) const;

  /// The best target that has a kernel which runs here; cpu_portable when none has.
  Target native() const noexcept;

  /// What the kernels of a target, and the portable ones beside them, feed on. For
  /// TargetRequest::cpu what is common to all targets; wanted is then what all of them want. An
  /// answer depends on this machine for TargetRequest::native alone.
  Capabilities capabilities(TargetRequest request) const;

 private:
  Capabilities capabilities_of(Target target) const;

  std::vector<Kernel> kernels_;  // sorted by key
};

/// For KernelRegistry::only(): the kernels of a device that has none for packed codecs.
bool is_dense(const Kernel& kernel) noexcept;

}  // namespace synps
