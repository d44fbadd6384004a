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

/// Whether the policy says something that only weights have, so that matching none must be a slip:
/// a scheme that claims weights, or no scheme but a fallback or a form.
bool speaks_of_weights(const PolicyEntry& entry);

/// Collects what is wrong with a resolution, one problem for all weights that have the same fault.
class ResolutionReport {
 public:
  /// Everything outlives the report; paths are kept as views.
  ResolutionReport(const PolicyDocument& document, const ValueClass& value = kWeights)
      : document_(document), entries_(document.entries), codecs_(*document.codecs), value_(value) {}

  void add(const Ambiguity& ambiguity, std::string_view path);
  void add(const WeightFault& fault, std::string_view path);

  /// Adds policies that speak of weights, are neither optional nor only in a base, and cover no
  /// path
  /// (`matched` by number of the policy).
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

  std::string same_paths_hint(const Ambiguity& ambiguity) const;

  const PolicyDocument& document_;
  const std::vector<PolicyEntry>& entries_;
  const CodecRegistry& codecs_;
  ValueClass value_;
  std::map<Ambiguity, std::vector<std::string_view>> ambiguities_;
  std::uint64_t hint_steps_ = 50'000'000;  // left for finding patterns that decide
  std::map<std::string, Faulty> faults_;   // by everything that the fault says
};

}  // namespace synps
