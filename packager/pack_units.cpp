#include "pack_units.h"

#include <algorithm>
#include <utility>

#include "pieces.h"

namespace synps {
namespace {

std::uint64_t units_of(const Plan& plan, const PlannedWeight& planned) {
  const StoredWeight& stored = plan.stored(planned);
  if (planned.copied) return stored.components.front().chunks();
  const std::uint64_t elements = stored.weight.shape.elements();
  const std::uint64_t unit = unit_elements(stored, *planned.codec);
  return elements / unit + (elements % unit != 0 ? 1 : 0);
}

}  // namespace

PackUnits::PackUnits(const Plan& plan, std::vector<std::size_t> weights)
    : weights_(std::move(weights)) {
  ends_.reserve(weights_.size());
  std::uint64_t end = 0;
  for (const std::size_t i : weights_) ends_.push_back(end += units_of(plan, plan.weights[i]));
}

PackUnits::Unit PackUnits::at(std::uint64_t unit) const {
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), unit);
  const std::uint64_t begin = end == ends_.begin() ? 0 : *std::prev(end);
  return {weights_[static_cast<std::size_t>(end - ends_.begin())], unit - begin};
}

bool is_one_piece(const Plan& plan, const PlannedWeight& planned) {
  if (planned.copied) return false;
  const StoredWeight& stored = plan.stored(planned);
  const std::uint64_t elements = stored.weight.shape.elements();
  return unit_elements(stored, *planned.codec) == elements &&
         largest_piece(stored.weight, elements, planned.codec->row_granule()) == elements;
}

std::vector<std::size_t> weights_to_analyse(const Plan& plan) {
  std::vector<std::size_t> weights;
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const PlannedWeight& planned = plan.weights[i];
    if (planned.codec == nullptr || is_one_piece(plan, planned)) continue;
    if (planned.codec->begin_analysis(plan.stored(planned).weight) != nullptr) weights.push_back(i);
  }
  return weights;
}

}  // namespace synps
