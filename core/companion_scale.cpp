#include "synps/companion_scale.h"

#include "name_table.h"

namespace synps {
namespace {

constexpr NameTable<ScaleForm, 3> kForms{
    {{{ScaleForm::tensor, "tensor"}, {ScaleForm::row, "row"}, {ScaleForm::block, "block"}}}};

}  // namespace

std::string_view to_string(ScaleForm form) noexcept {
  return kForms.name(form);
}

std::optional<ScaleForm> scale_form_from(std::string_view name) noexcept {
  return kForms.value(name);
}

}  // namespace synps
