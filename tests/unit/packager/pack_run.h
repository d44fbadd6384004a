#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pack_fixture.h"
#include "synps/pack.h"

namespace synps::testing {

inline constexpr const char* kEarlier = "an earlier output";

/// Packs of one checkpoint under one policy, all calls of which go to an Os that may have faults.
struct PackRun {
  PackFixture fixture;
  Policy rules;
  std::string complete;  ///< the output that a run without fault writes

  /// `tensors` is a builder of any kind of checkpoint.
  template <typename Builder>
  PackRun(const Builder& tensors, Policy policy) : fixture(tensors), rules(std::move(policy)) {
    pack(Os::posix(), 1);
    complete = read_file(fixture.output);
  }

  /// What is in the folder, an output there.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const std::string& path : {fixture.input, fixture.output})
      names.push_back(path.substr(path.rfind('/') + 1));
    return names;
  }

  /// Opens, plans and packs.
  void pack(Os& os, unsigned jobs) const {
    const Checkpoint checkpoint = Checkpoint::open(fixture.input, os);
    PackOptions options;
    options.replace = true;
    options.jobs = jobs;
    synps::pack(checkpoint, fixture.plan(checkpoint, rules), fixture.output, options, os);
  }

  /// The error of a run over an earlier output, or nothing.
  std::optional<Error> run(Os& os, unsigned jobs = 1) const {
    write_file(fixture.output, kEarlier);
    try {
      pack(os, jobs);
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }
};

}  // namespace synps::testing
