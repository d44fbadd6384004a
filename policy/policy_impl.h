#pragma once

#include <utility>

#include "policy_coverage.h"
#include "policy_document.h"
#include "synps/policy.h"

namespace synps {

struct Policy::Impl {
  explicit Impl(PolicyDocument read) : document(std::move(read)), coverage(document.entries) {}

  const PolicyDocument document;
  const PolicyCoverage coverage;  // refers to document
};

}  // namespace synps
