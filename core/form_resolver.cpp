#include "synps/form_resolver.h"

#include <algorithm>

#include "name_table.h"
#include "synps/row_order.h"

namespace synps {
namespace {

constexpr NameTable<FormReason, 11> kReasons{
    {{{FormReason::not_multiplied, "as stored: nothing multiplies it"},
      {FormReason::asked_as_stored, "as stored: that is asked for"},
      {FormReason::asked_dequantized, "f32: that is asked for"},
      {FormReason::asked_kernel_feed, "relaid: the order that kernels want is asked for"},
      {FormReason::fed, "as stored: a kernel reads it so"},
      {FormReason::wanted, "relaid: on the heap anyway, and a kernel is faster so"},
      {FormReason::only_order, "relaid: no kernel reads the stored order"},
      {FormReason::no_kernel, "f32: no kernel reads the codec"},
      {FormReason::nothing_else, "as stored: no kernel reads it, nor what it can be made into"},
      {FormReason::undone, "as stored: over the budget otherwise"},
      {FormReason::as_packed, "as packed: no profile is given"}}}};

constexpr Order other(Order order) noexcept {
  return order == Order::rows1 ? Order::rows8 : Order::rows1;
}

bool producible(const CanProduce& can, Order order) noexcept {
  return order == Order::rows1 ? can.rows1 : can.rows8;
}

/// The order that some kernel is faster on and none of the other order is. Unlike wanted_order(),
/// nothing where kernels do not care.
bool is_wanted(const Capabilities& capabilities, const std::string& codec, Order order) noexcept {
  bool wanted = false;
  for (const Capabilities::Entry& entry : capabilities.entries()) {
    if (entry.codec != codec || !entry.wanted) continue;
    if (entry.order != order) return false;
    wanted = true;
  }
  return wanted;
}

/// Rules 2 to 4 of the residency: where the weight is if nothing is converted.
Residency own_residency(const StoredForm& stored, const LoadRequest& request,
                        const Profile& profile) noexcept {
  if (request.residency == ResidencyRequest::heap) return Residency::heap;
  if (request.residency == ResidencyRequest::mapped || stored.is_volatile) return Residency::mapped;
  return profile.residency;
}

void keep(FormDecision& decision, FormReason reason) {
  decision.reason = reason;
}

void relay(FormDecision& decision, FormReason reason) {
  decision.reason = reason;
  decision.relays = true;
  decision.form.order = other(decision.form.order);
}

void dequantize(FormDecision& decision, FormReason reason) {
  decision.reason = reason;
  decision.dequantizes = true;
  decision.form.encoding = {Encoding::Kind::dequantize_to, "f32"};
  decision.form.order = Order::rows1;
}

/// The rules of the form. `decision` comes as stored, with its residency.
void choose(FormDecision& decision, const StoredForm& stored, const LoadRequest& request,
            const Capabilities& capabilities, const CanProduce& can) {
  if (!stored.matrix || stored.codec == "keep") return keep(decision, FormReason::not_multiplied);
  if (request.dequantize && can.f32) return dequantize(decision, FormReason::asked_dequantized);
  if (request.order == OrderRequest::as_stored) return keep(decision, FormReason::asked_as_stored);
  const Order order = other(stored.order);
  const bool can_relay = producible(can, order) && capabilities.feeds(stored.codec, order);
  if (capabilities.feeds(stored.codec, stored.order)) {
    const bool asked = request.order == OrderRequest::kernel_feed;
    const bool on_heap = decision.form.residency == Residency::heap;
    if (can_relay && (asked || on_heap) && is_wanted(capabilities, stored.codec, order))
      return relay(decision, asked ? FormReason::asked_kernel_feed : FormReason::wanted);
    return keep(decision, FormReason::fed);
  }
  if (can_relay) return relay(decision, FormReason::only_order);
  if (can.f32) return dequantize(decision, FormReason::no_kernel);
  keep(decision, FormReason::nothing_else);
}

bool is_compressed(const StoredWeight& weight) {
  return std::any_of(weight.components.begin(), weight.components.end(),
                     [](const StoredComponent& stored) { return stored.compressed(); });
}

Order stored_order(const StoredWeight& weight) {
  return weight.components.empty() ? Order::rows1 : weight.components.front().order;
}

}  // namespace

std::string_view to_string(FormReason reason) noexcept {
  return kReasons.name(reason);
}

StoredForm stored_form(const StoredWeight& weight) {
  StoredForm stored;
  stored.codec = weight.codec.id();
  stored.order = stored_order(weight);
  stored.orientation = weight.form.orientation;
  stored.compressed = is_compressed(weight);
  stored.is_volatile = weight.scheme && weight.scheme->is_volatile;
  stored.matrix = weight.weight.shape.rank() == 2 && weight.weight.shape.elements() != 0 &&
                  weight.form.orientation == Orientation::out_in;
  return stored;
}

LoadRequest merged(const FormRequest& policy, const LoadRequest& caller) {
  LoadRequest request = caller;
  if (request.order == OrderRequest::automatic) request.order = policy.order;
  if (request.residency == ResidencyRequest::automatic) request.residency = policy.residency;
  return request;
}

CanProduce can_produce(const Codec* codec, const StoredWeight& weight) {
  const bool known = codec != nullptr && codec->supports(weight.weight).ok;
  const Order order = stored_order(weight);
  CanProduce can;
  can.rows1 = order == Order::rows1 || known;
  can.rows8 = order == Order::rows8 || (known && can_be_rows8(*codec, weight.weight));
  can.f32 = known && !(codec->info().dense && codec->info().dense_dtype == DType::f32);
  can.mapped = !is_compressed(weight);
  return can;
}

FormDecision resolve_form(const StoredForm& stored, const LoadRequest& request,
                          const Profile& profile, const Capabilities& capabilities,
                          const CanProduce& can) {
  FormDecision decision;
  decision.form.order = stored.order;
  decision.form.orientation = stored.orientation;
  decision.own_residency = own_residency(stored, request, profile);
  decision.asked_residency = request.residency != ResidencyRequest::automatic;
  decision.inflates = stored.compressed;
  const bool heap = stored.compressed || !can.mapped;
  decision.form.residency = heap ? Residency::heap : decision.own_residency;
  choose(decision, stored, request, capabilities, can);
  if (decision.converts()) decision.form.residency = Residency::heap;
  return decision;
}

FormDecision as_packed(const StoredWeight& weight) {
  const bool compressed = is_compressed(weight);
  FormDecision decision;
  decision.form.order = stored_order(weight);
  decision.form.orientation = weight.form.orientation;
  decision.reason = FormReason::as_packed;
  decision.asked_residency = true;
  decision.inflates = compressed;
  // That of a compressed weight is the heap whatever was asked for.
  decision.own_residency = weight.form.residency;
  if (compressed && weight.asked.residency != ResidencyRequest::heap)
    decision.own_residency = Residency::mapped;
  decision.form.residency = compressed ? Residency::heap : weight.form.residency;
  return decision;
}

}  // namespace synps
