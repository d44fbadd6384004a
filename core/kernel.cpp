#include "synps/kernel.h"

#include <algorithm>
#include <array>

#include "name_table.h"
#include "synps/error.h"

namespace synps {
namespace {

constexpr NameTable<KernelOp, 3> kOps{{{{KernelOp::matvec, "matvec"},
                                        {KernelOp::matmul, "matmul"},
                                        {KernelOp::matvec_q8, "matvec_q8"}}}};
constexpr NameTable<Target, 3> kTargets{{{{Target::cpu_portable, "cpu-portable"},
                                          {Target::cpu_avx2, "cpu-avx2"},
                                          {Target::cpu_neon, "cpu-neon"}}}};
constexpr NameTable<TargetRequest, 5> kRequests{{{{TargetRequest::cpu, "cpu"},
                                                  {TargetRequest::cpu_portable, "cpu-portable"},
                                                  {TargetRequest::cpu_avx2, "cpu-avx2"},
                                                  {TargetRequest::cpu_neon, "cpu-neon"},
                                                  {TargetRequest::native, "native"}}}};
/// The portable one first: the best that runs is the last.
constexpr std::array kAllTargets{Target::cpu_portable, Target::cpu_avx2, Target::cpu_neon};

using Entry = Capabilities::Entry;

bool same_kernel(const Entry& a, const Entry& b) noexcept {
  return a.op == b.op && a.codec == b.codec && a.order == b.order;
}

bool by_kernel(const Entry& a, const Entry& b) noexcept {
  if (a.op != b.op) return a.op < b.op;
  if (a.codec != b.codec) return a.codec < b.codec;
  return a.order < b.order;
}

/// Of two sorted lists the entries that both have, wanted where both want them.
std::vector<Entry> common(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  std::vector<Entry> both;
  for (const Entry& entry : a) {
    const auto other = std::lower_bound(b.begin(), b.end(), entry, by_kernel);
    if (other == b.end() || !same_kernel(*other, entry)) continue;
    both.push_back(entry);
    both.back().wanted = entry.wanted && other->wanted;
  }
  return both;
}

}  // namespace

std::string_view to_string(KernelOp op) noexcept {
  return kOps.name(op);
}
std::string_view to_string(Target target) noexcept {
  return kTargets.name(target);
}
std::string_view to_string(TargetRequest request) noexcept {
  return kRequests.name(request);
}
std::optional<KernelOp> kernel_op_from(std::string_view name) noexcept {
  return kOps.value(name);
}
std::optional<Target> target_from(std::string_view name) noexcept {
  return kTargets.value(name);
}
std::optional<TargetRequest> target_request_from(std::string_view name) noexcept {
  return kRequests.value(name);
}
std::span<const Target> all_targets() noexcept {
  return kAllTargets;
}

std::string to_string(const KernelKey& key) {
  std::string text;
  for (const std::string_view part : {to_string(key.op), std::string_view(key.codec),
                                      to_string(key.order), to_string(key.target)}) {
    if (!text.empty()) text += ' ';
    text += part;
  }
  return text;
}

bool is_dense(const Kernel& kernel) noexcept {
  return kernel.dense;
}

bool Capabilities::feeds(KernelOp op, std::string_view codec, Order order) const noexcept {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.op == op && entry.codec == codec && entry.order == order;
  });
}

bool Capabilities::feeds(std::string_view codec, Order order) const noexcept {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.codec == codec && entry.order == order;
  });
}

std::optional<Order> Capabilities::wanted_order(std::string_view codec) const noexcept {
  std::optional<Order> wanted;
  std::optional<Order> lowest;
  bool agreed = true;
  for (const Entry& entry : entries_) {
    if (entry.codec != codec) continue;
    lowest = lowest ? std::min(*lowest, entry.order) : entry.order;
    if (!entry.wanted) continue;
    agreed = agreed && (!wanted || *wanted == entry.order);
    wanted = entry.order;
  }
  return wanted && agreed ? wanted : lowest;
}

void KernelRegistry::add(Kernel kernel) {
  const auto at = std::lower_bound(kernels_.begin(), kernels_.end(), kernel.key,
                                   [](const Kernel& a, const KernelKey& b) { return a.key < b; });
  if (at != kernels_.end() && at->key == kernel.key) {
    Problem problem;
    problem.code = ErrorCode::package;
    problem.what = "kernel registered twice";
    problem.found = to_string(kernel.key);
    throw Error(std::move(problem));
  }
  kernels_.insert(at, std::move(kernel));
}

const Kernel* KernelRegistry::find(const KernelKey& key) const noexcept {
  const auto at = std::lower_bound(kernels_.begin(), kernels_.end(), key,
                                   [](const Kernel& a, const KernelKey& b) { return a.key < b; });
  return at != kernels_.end() && at->key == key ? &*at : nullptr;
}

const Kernel* KernelRegistry::find_runnable(KernelOp op, std::string_view codec,
                                            Order order) const noexcept {
  const Kernel* best = nullptr;
  for (const Kernel& kernel : kernels_) {  // those of better targets come later
    const KernelKey& key = kernel.key;
    if (key.op == op && key.codec == codec && key.order == order && kernel.runnable())
      best = &kernel;
  }
  return best;
}

std::vector<KernelKey> KernelRegistry::keys() const {
  std::vector<KernelKey> keys;
  keys.reserve(kernels_.size());
  for (const Kernel& kernel : kernels_) keys.push_back(kernel.key);
  return keys;
}

KernelRegistry KernelRegistry::only(const std::function<bool(const Kernel&)>& keep) const {
  KernelRegistry kept;
  std::copy_if(kernels_.begin(), kernels_.end(), std::back_inserter(kept.kernels_), keep);
  return kept;
}

Target KernelRegistry::native() const noexcept {
  Target best = Target::cpu_portable;
  for (const Kernel& kernel : kernels_)
    if (kernel.runnable()) best = std::max(best, kernel.key.target);
  return best;
}

Capabilities KernelRegistry::capabilities_of(Target target) const {
  Capabilities found;
  std::vector<Entry>& entries = found.entries_;
  // A kernel of the target itself hides the portable one.
  for (const Target from : {target, Target::cpu_portable})
    for (const Kernel& kernel : kernels_) {
      const KernelKey& key = kernel.key;
      if (key.target != from) continue;
      const Entry entry{key.op, key.codec, key.order, kernel.wanted};
      const bool known = std::any_of(entries.begin(), entries.end(),
                                     [&](const Entry& other) { return same_kernel(entry, other); });
      if (!known) entries.push_back(entry);
    }
  std::sort(entries.begin(), entries.end(), by_kernel);
  return found;
}

Capabilities KernelRegistry::capabilities(TargetRequest request) const {
  switch (request) {
    case TargetRequest::cpu_portable:
      return capabilities_of(Target::cpu_portable);
    case TargetRequest::cpu_avx2:
      return capabilities_of(Target::cpu_avx2);
    case TargetRequest::cpu_neon:
      return capabilities_of(Target::cpu_neon);
    case TargetRequest::native:
      return capabilities_of(native());
    case TargetRequest::cpu:
      break;
  }
  Capabilities all = capabilities_of(kAllTargets[0]);
  for (const Target target : kAllTargets)
    all.entries_ = common(all.entries_, capabilities_of(target).entries_);
  return all;
}

}  // namespace synps
