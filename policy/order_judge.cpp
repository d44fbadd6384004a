#include "order_judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "format_names.h"
#include "synps/pack_source.h"

namespace synps {
namespace {

std::string target_text(const PackTarget& target) {
  return target.name.empty() ? "the target" : target.name;
}

/// The codecs that some kernel feeds on, as policies name them.
std::vector<std::string> fed_codecs(const PackTarget& target, const CodecRegistry& codecs) {
  std::vector<std::string> names;
  for (const Capabilities::Entry& entry : target.capabilities.entries())
    names.push_back(short_format(entry.codec, codecs));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Problem no_kernel(const PackSource& source, const PackTarget& target, const CodecRegistry& codecs) {
  Problem problem{.what = fmt::format("no kernel of {} feeds on a codec", target_text(target))};
  problem.found = fmt::format("order = \"kernel_feed\" for {}", short_format(source.codec, codecs));
  const std::vector<std::string> fed = fed_codecs(target, codecs);
  problem.hint = "set order = \"auto\" for these weights";
  if (!fed.empty())
    problem.hint +=
        fmt::format(", or give them a format that kernels feed on: {}", fmt::join(fed, ", "));
  return problem;
}

Problem not_matrix(const WeightFacts& facts, const PackSource& source, const PackTarget& target,
                   const CodecRegistry& codecs) {
  Problem problem{.what = fmt::format("a weight cannot have the order that kernels of {} want",
                                      target_text(target))};
  problem.found =
      fmt::format("{} of rank {}", short_format(source.codec, codecs), facts.weight.shape.rank());
  problem.want = "a matrix, which rows8 is for";
  problem.hint = "set order = \"auto\" for these weights";
  return problem;
}

Problem no_orientation() {
  Problem problem{.what = "no kernel multiplies a weight of this orientation"};
  problem.found = "order = \"kernel_feed\" with orientation = \"in_out\"";
  problem.hint = "set order = \"auto\" for these weights";
  return problem;
}

Problem problem_of(OrderFault fault, const WeightFacts& facts, const PackSource& source,
                   const PackTarget& target, const CodecRegistry& codecs) {
  if (fault == OrderFault::in_out) return no_orientation();
  if (fault == OrderFault::no_kernel) return no_kernel(source, target, codecs);
  return not_matrix(facts, source, target, codecs);
}

}  // namespace

std::optional<WeightFault> order_fault(const WeightFacts& facts, const SetResolution& set,
                                       const CodecRegistry& codecs, const PackTarget& target,
                                       const WeightResolution& weight) {
  const bool as_it_is = !weight.needs_scheme || facts.weight.shape.elements() == 0;
  if (as_it_is || weight.form.order != OrderRequest::kernel_feed) return std::nullopt;
  if (!weight.keep && weight.codec == nullptr) return std::nullopt;  // undecided, which is told
  const PackSource source = pack_source(codecs, facts, weight);
  const OrderFault fault = resolve_packed_form(weight.form, source, target).fault;
  if (fault == OrderFault::none) return std::nullopt;
  WeightFault found;
  for (const KeyDecision& decision : set.common.decisions)
    if (decision.key == "form.order") found.place = decision.place;
  found.problem = problem_of(fault, facts, source, target, codecs);
  found.problem.field = "form.order";
  return found;
}

}  // namespace synps
