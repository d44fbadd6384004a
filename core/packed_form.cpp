#include "synps/packed_form.h"

namespace synps {
namespace {

Order packed_order(const FormRequest& request, const PackSource& source, const PackTarget& target,
                   OrderFault& fault) {
  if (request.order == OrderRequest::as_stored) return source.rows8 ? source.order : Order::rows1;
  const bool asked = request.order == OrderRequest::kernel_feed;
  const std::optional<Order> wanted = target.capabilities.wanted_order(source.codec);
  if (request.orientation == Orientation::in_out) {
    if (asked) fault = OrderFault::in_out;
    return Order::rows1;
  }
  if (asked && !wanted) fault = OrderFault::no_kernel;
  if (!wanted || *wanted == Order::rows1 || !source.packed) return Order::rows1;
  if (asked && !source.matrix) fault = OrderFault::not_matrix;
  return source.rows8 ? Order::rows8 : Order::rows1;
}

Residency packed_residency(const FormRequest& request, const PackSource& source,
                           const PackTarget& target) {
  if (source.compression != Compression::none) return Residency::heap;
  if (request.residency == ResidencyRequest::heap) return Residency::heap;
  if (request.residency == ResidencyRequest::mapped || source.is_volatile) return Residency::mapped;
  return target.profile ? target.profile->residency : Residency::mapped;
}

}  // namespace

PackedForm resolve_packed_form(const FormRequest& request, const PackSource& source,
                               const PackTarget& target) {
  PackedForm packed;
  if (source.converts) packed.form.encoding = {Encoding::Kind::requantize_to, source.codec};
  packed.form.order = packed_order(request, source, target, packed.fault);
  packed.form.orientation = request.orientation;
  packed.form.residency = packed_residency(request, source, target);
  return packed;
}

}  // namespace synps
