#include "storage_scale.h"

#include <fmt/format.h>

#include <utility>

#include "synps/error.h"
#include "synps/scale_product.h"
#include "synps/value_problems.h"
#include "usage_error.h"

namespace synps {

bool awaits_scale(const StorageState& storage) noexcept {
  return storage.stored.scale && !storage.stored.scale->folded;
}

void check_scale(const StorageState& storage) {
  if (!awaits_scale(storage)) return;
  const StoredScale& scale = *storage.stored.scale;
  const auto refuse = [&](std::string found) {
    throw usage_error("", storage.stored.weight.path,
                      "the scale of a weight, to be multiplied in, is not at hand",
                      fmt::format("{}: {}", quote(scale.path), found),
                      fmt::format("a scale a {}", to_string(scale.form)));
  };
  if (storage.scale == nullptr) refuse("not a weight of the artifact");
  const StorageState& numbers = storage.scale->state();
  if (numbers.codec == nullptr || !numbers.on_host()) refuse("nothing here decodes it");
  if (scale_form(storage.stored.weight.shape, numbers.stored.weight.shape) != scale.form)
    refuse(fmt::format("shape {}", numbers.stored.weight.shape.to_string()));
}

StorageScale::StorageScale(const StorageState& storage) : storage_(storage) {
  if (!awaits_scale(storage)) return;
  numbers_ = storage.scale->decode();
  const auto bad = unusable_number(numbers_);
  if (!bad) return;
  const Weight& scale = storage.scale->weight();
  Problem problem{.code = ErrorCode::checkpoint,
                  .what = "a scale that no weight can be multiplied by",
                  .field = scale.path};
  problem.found = fmt::format("{} at element {}", value_text(static_cast<double>(numbers_[*bad])),
                              element_text(scale.shape, *bad));
  problem.want = "finite numbers other than 0";
  throw Error(std::move(problem));
}

void StorageScale::apply(const Piece& piece, std::span<float> values, ValueReport& report) const {
  if (numbers_.empty()) return;
  const Shape& shape = storage_.stored.weight.shape;
  const ScaleForm form = storage_.stored.scale->form;
  const ScaleRange range = scale_range(shape, form, piece);
  multiply_by_scale(shape, form, piece, std::span(numbers_).subspan(range.first, range.count),
                    values, report);
}

}  // namespace synps
