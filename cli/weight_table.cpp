#include "weight_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "path_folding.h"
#include "synps/error.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

struct Section {
  std::string heading;
  std::vector<const WeightLine*> weights;
  std::uint64_t bytes = 0;
};

std::vector<Section> sections_of(const std::vector<WeightLine>& weights) {
  std::map<std::string, Section> by_heading;
  for (const WeightLine& weight : weights) {
    Section& section = by_heading[weight.section];
    section.weights.push_back(&weight);
    section.bytes += weight.bytes;
  }
  std::vector<Section> out;
  for (auto& [heading, section] : by_heading) {
    section.heading = heading;
    out.push_back(std::move(section));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Section& a, const Section& b) { return a.bytes > b.bytes; });
  return out;
}

void add_rows(Table& table, const Section& section, bool all) {
  std::vector<FoldItem> items;
  for (const WeightLine* weight : section.weights) items.push_back({weight->path, weight->shape});
  FoldOptions options;
  options.numbers = !all;
  options.names = !all;
  for (const FoldedRow& row : fold_paths(items, options)) {
    std::uint64_t bytes = 0;
    std::uint64_t elements = 0;
    for (const std::size_t member : row.members) {
      bytes += section.weights[member]->bytes;
      elements += section.weights[member]->elements;
    }
    const WeightLine& first = *section.weights[row.members.front()];
    std::vector<std::string> cells{"  " + escape_for_display(all ? first.path : row.pattern)};
    if (!all) cells.push_back(grouped(row.members.size()));
    cells.insert(cells.end(), {first.shape, bits_each(bytes, elements), grouped(bytes)});
    table.add(std::move(cells));
  }
}

}  // namespace

std::string weight_table(const std::vector<WeightLine>& weights, bool all, std::size_t width) {
  using enum Table::Align;
  std::vector<Table::Column> columns{{"WEIGHT", left}};
  if (!all) columns.push_back({"COUNT", right});
  columns.insert(columns.end(), {{"SHAPE", left}, {"BITS", right}, {"BYTES", right}});
  Table table(std::move(columns));
  for (const Section& section : sections_of(weights)) {
    table.add_heading("");
    table.add_heading(wrapped(section.heading, width, 4));
    add_rows(table, section, all);
  }
  return table.render(width);
}

}  // namespace synps::cli
