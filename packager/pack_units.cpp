#include "pack_units.h"

#include "pieces.h"

namespace synps {

std::uint64_t pack_units(const Plan& plan, const PlannedWeight& planned) {
  const StoredWeight& stored = plan.stored(planned);
  if (planned.copied) {
    std::uint64_t chunks = 0;
    for (const StoredComponent& component : stored.components) chunks += component.chunks();
    return chunks;
  }
  return units_of_elements(stored, *planned.codec);
}

bool is_one_piece(const Plan& plan, const PlannedWeight& planned) {
  if (planned.copied) return false;
  const StoredWeight& stored = plan.stored(planned);
  if (stored.form.order != Order::rows1) return false;  // pieces go through a stage
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
