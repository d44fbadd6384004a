#include <string>

#include "c_handle.h"
#include "c_struct.h"
#include "synps/dtype.h"
#include "synps/form_resolver.h"

namespace synps::c {
namespace {

std::uint32_t number_of(Encoding::Kind kind) noexcept {
  switch (kind) {
    case Encoding::Kind::keep_as_stored:
      return SYNPS_KEEP_AS_STORED;
    case Encoding::Kind::dequantize_to:
      return SYNPS_DEQUANTIZE_TO;
    case Encoding::Kind::requantize_to:
      return SYNPS_REQUANTIZE_TO;
  }
  return SYNPS_KEEP_AS_STORED;
}

void describe_form(const WeightForm& form, const Names& names, synps_weight& out) {
  out.encoding = number_of(form.encoding.kind);
  out.order = form.order == Order::rows8 ? SYNPS_ORDER_ROWS8 : SYNPS_ORDER_ROWS1;
  out.orientation = form.orientation == Orientation::in_out ? SYNPS_IN_OUT : SYNPS_OUT_IN;
  out.residency = form.residency == Residency::heap ? SYNPS_RESIDENCY_HEAP : SYNPS_RESIDENCY_MAPPED;
  out.encoding_name = names.keep(to_string(form.encoding));
  out.order_name = names.keep(to_string(form.order));
  out.orientation_name = names.keep(to_string(form.orientation));
  out.residency_name = names.keep(to_string(form.residency));
}

void describe_memory(const WeightMemory& memory, synps_weight& out) {
  out.file_bytes = memory.file;
  out.resident_bytes = memory.resident;
  out.mapped_bytes = memory.mapped;
  out.conversion_bytes = memory.conversion;
  out.transient_bytes = memory.transient;
}

synps_weight describe(const WeightView& weight, const Names& names) {
  synps_weight out{};
  out.path = weight.path().c_str();
  out.path_size = weight.path().size();
  out.shape = weight.shape().extents().data();
  out.rank = weight.shape().rank();
  out.rows = weight.shape().rows();
  out.columns = weight.shape().columns();
  out.dtype = names.keep(dtype_name(weight.dtype()));
  out.codec = names.keep(weight.stored().codec.id());
  out.decodable = weight.codec() != nullptr ? 1 : 0;
  out.lossless = weight.stored().lossless ? 1 : 0;
  describe_form(weight.form(), names, out);
  out.reason = names.keep(to_string(weight.decision().reason));
  out.converted = weight.decision().converts() ? 1 : 0;
  out.activation_block = weight.activation_block();
  out.component_count = weight.component_count();
  describe_memory(weight.memory(), out);
  return out;
}

/// Of the loaded form: a dequantized weight has f32 values instead of what is stored.
const char* component_name(const WeightView& weight, std::size_t i) {
  if (weight.decision().dequantizes) return "values";
  return weight.stored().components[i].component.name.c_str();
}

synps_component describe(const WeightView& weight, std::size_t i, const Names& names) {
  const auto bytes = weight.component(i);  // there is such a component, and it is sound
  const bool values = weight.decision().dequantizes;
  const Component& stored = weight.stored().components[i].component;
  const Shape& shape = values ? weight.shape() : stored.shape;
  synps_component out{};
  out.name = component_name(weight, i);
  out.dtype = names.keep(dtype_name(values ? DType::f32 : stored.dtype));
  out.shape = shape.extents().data();
  out.rank = shape.rank();
  out.data = bytes.data();
  out.bytes = bytes.size();
  return out;
}

std::size_t find_component(const WeightView& weight, std::string_view name) {
  for (std::size_t i = 0; i < weight.component_count(); ++i)
    if (component_name(weight, i) == name) return i;
  std::string names;
  for (std::size_t i = 0; i < weight.component_count(); ++i)
    names += (i == 0 ? "" : " or ") + escape_for_display(component_name(weight, i));
  refuse("no such component", weight.path(), quote(name), names);
}

}  // namespace
}  // namespace synps::c

size_t synps_weight_count(const synps_artifact* artifact) {
  return artifact != nullptr ? artifact->artifact.size() : 0;
}

int synps_find_weight(const synps_artifact* artifact, const char* path, size_t* weight,
                      synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::Artifact& opened = synps::c::checked(artifact).artifact;
    const synps::WeightView found = opened[&synps::c::given(path, "path")];
    synps::c::given(weight, "weight") =
        static_cast<size_t>(&found.stored() - opened.index().weights.data());
  });
}

int synps_get_weight(const synps_artifact* artifact, size_t weight, synps_weight* out,
                     synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    synps::c::write_struct(out, synps::c::describe(view, artifact->names), "out");
  });
}

int synps_get_component(const synps_artifact* artifact, size_t weight, size_t component,
                        synps_component* out, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    synps::c::write_struct(out, synps::c::describe(view, component, artifact->names), "out");
  });
}

int synps_find_component(const synps_artifact* artifact, size_t weight, const char* name,
                         size_t* component, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    const size_t found = synps::c::find_component(view, &synps::c::given(name, "name"));
    synps::c::given(component, "component") = found;
  });
}

int synps_decode(const synps_artifact* artifact, size_t weight, uint64_t first_row,
                 uint64_t row_count, float* out, size_t out_size, synps_error** error) {
  return synps::c::guarded(error, [&] {
    const synps::WeightView view = synps::c::weight_of(artifact, weight);
    synps::c::check_array(out, out_size, "out");
    view.decode({first_row, row_count}, {out, out_size});
  });
}
