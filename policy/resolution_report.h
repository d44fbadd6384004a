#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy_relations.h"
#include "policy_resolver.h"
#include "problem_list.h"
#include "synps/policy.h"
#include "weight_judge.h"

namespace synps {

/// Collects what is wrong with a resolution, one problem for all weights that have the same fault.
class ResolutionReport {
 public:
  /// Everything outlives the report; paths are kept as views.
  ResolutionReport(const std::vector<PolicyEntry>& entries, const CodecRegistry& codecs)
      : entries_(entries), codecs_(codecs) {}

  void add(const Ambiguity& ambiguity, std::string_view path);
  void add(const WeightFault& fault, std::string_view path);

  /// Adds policies that speak of weights, are not optional, and cover no path (`matched` by number
  /// of the policy).
  static void add_unmatched(const std::vector<PolicyEntry>& entries,
                            const std::vector<bool>& matched,
                            const std::vector<std::string_view>& paths, ProblemList& problems);

  void finish(const PolicyRelations& relations, ProblemList& problems);

 private:
  struct Faulty {
    WeightFault fault;
    std::size_t count = 0;
    std::string_view example;
  };

  void report_ambiguity(const Ambiguity& ambiguity, const std::vector<std::string_view>& paths,
                        const PolicyRelations& relations, ProblemList& problems);
  std::string value_of(std::string_view key, const PolicyEntry& entry) const;
  std::string deciding_headers(const Ambiguity& ambiguity,
                               const std::vector<std::string_view>& paths);

  const std::vector<PolicyEntry>& entries_;
  const CodecRegistry& codecs_;
  std::map<Ambiguity, std::vector<std::string_view>> ambiguities_;
  std::uint64_t hint_steps_ = 50'000'000;  // left for finding patterns that decide
  std::map<std::string, Faulty> faults_;   // by everything that the fault says
};

}  // namespace synps
