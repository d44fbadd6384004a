#include "diff_forms.h"

#include <algorithm>
#include <string_view>

#include "diff_side.h"
#include "path_folding.h"
#include "synps/error.h"
#include "synps/form.h"
#include "table.h"
#include "text.h"
#include "weight_report.h"

namespace synps::cli {

std::vector<FormDifference> form_differences(const WeightDiff& weight) {
  std::vector<FormDifference> out;
  if (weight.a == nullptr || weight.b == nullptr) return out;
  const auto compare = [&out](const char* field, std::string_view a, std::string_view b) {
    if (a != b) out.push_back({field, std::string(a), std::string(b)});
  };
  compare("encoding", encoding_text(*weight.a), encoding_text(*weight.b));
  const StoredWeight* const a = weight.a->stored;
  const StoredWeight* const b = weight.b->stored;
  if (a == nullptr || b == nullptr) return out;
  compare("compute", a->compute, b->compute);
  compare("order", to_string(a->form.order), to_string(b->form.order));
  compare("orientation", to_string(a->form.orientation), to_string(b->form.orientation));
  compare("residency", to_string(a->form.residency), to_string(b->form.residency));
  compare("compress", to_string(shown_compression(*a)), to_string(shown_compression(*b)));
  compare("device", a->device, b->device);
  return out;
}

bool same_forms(const DiffReport& report) {
  return std::all_of(report.weights.begin(), report.weights.end(),
                     [](const WeightDiff& weight) { return form_differences(weight).empty(); });
}

std::string forms_text(const DiffReport& report, bool all, std::size_t width) {
  std::vector<FoldItem> items;
  std::vector<FormDifference> differences;
  for (const WeightDiff& weight : report.weights)
    for (FormDifference& each : form_differences(weight)) {
      items.push_back({weight.path, each.field + '\n' + each.a + '\n' + each.b});
      differences.push_back(std::move(each));
    }
  if (items.empty()) return {};
  using enum Table::Align;
  Table table({{"WEIGHT", left}, {"COUNT", right}, {"FORM", left}, {"A", left}, {"B", left}});
  FoldOptions options;
  options.numbers = options.names = !all;
  for (const FoldedRow& row : fold_paths(items, options)) {
    const FormDifference& each = differences[row.members.front()];
    table.add({escape_for_display(all ? items[row.members.front()].path : row.pattern),
               grouped(row.members.size()), each.field, each.a, each.b});
  }
  return table.render(width);
}

}  // namespace synps::cli
