#include "pairs_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "synps/conversion.h"
#include "synps/json_writer.h"

namespace synps::cli {
namespace {

using Group = std::vector<const Codec*>;

/// What a pair would be if no two codecs were equal, so that a codec can share a row with others
/// although it is the same as itself.
ConversionKind kind_of_unequal(const Codec& source, const Codec& target) {
  if (!target.info().encodes) return ConversionKind::refused;
  return target.info().stores_exactly(value_dtype(source)) ? ConversionKind::lossless
                                                           : ConversionKind::lossy;
}

/// Codecs that `alike(a, b)`, together, in the order of their first.
template <typename Alike>
std::vector<Group> grouped(const std::vector<const Codec*>& codecs, Alike alike) {
  std::vector<Group> groups;
  for (const Codec* codec : codecs) {
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const Group& group) { return alike(*group.front(), *codec); });
    if (at == groups.end())
      groups.push_back({codec});
    else
      at->push_back(codec);
  }
  return groups;
}

std::string names_of(const Group& group) {
  std::string names;
  for (const Codec* codec : group)
    names +=
        fmt::format("{}`{}`", names.empty() ? "" : ", ", CodecRegistry::short_name(codec->info()));
  return names;
}

/// "lossy (requantize), same for itself".
std::string cell(const Group& sources, const Group& targets) {
  std::string kind;
  bool itself = false;
  for (const Codec* source : sources)
    for (const Codec* target : targets) {
      const ConversionKind each = conversion_kind(source, *target);
      if (each == ConversionKind::same)
        itself = true;
      else
        kind = to_string(each);
    }
  if (kind.empty()) return "same";
  return itself ? kind + "; same for itself" : kind;
}

}  // namespace

std::string pairs_table(const CodecRegistry& codecs) {
  const std::vector<const Codec*> all = codecs.all();
  const auto sources = grouped(all, [&](const Codec& a, const Codec& b) {
    return std::all_of(all.begin(), all.end(), [&](const Codec* target) {
      return kind_of_unequal(a, *target) == kind_of_unequal(b, *target);
    });
  });
  const auto targets = grouped(all, [&](const Codec& a, const Codec& b) {
    return std::all_of(all.begin(), all.end(), [&](const Codec* source) {
      return kind_of_unequal(*source, a) == kind_of_unequal(*source, b);
    });
  });
  std::string out = "| stored as |";
  std::string rule = "|---|";
  for (const Group& group : targets) {
    out += fmt::format(" {} |", names_of(group));
    rule += "---|";
  }
  out += "\n" + rule + "\n";
  for (const Group& group : sources) {
    out += fmt::format("| {} |", names_of(group));
    for (const Group& target : targets) out += fmt::format(" {} |", cell(group, target));
    out += "\n";
  }
  return out;
}

std::string pairs_json(const CodecRegistry& codecs) {
  JsonWriter json;
  json.begin_object().key("pairs").begin_array();
  for (const Codec* source : codecs.all())
    for (const Codec* target : codecs.all())
      json.begin_object()
          .key("from")
          .string(source->info().id())
          .key("to")
          .string(target->info().id())
          .key("kind")
          .string(to_string(conversion_kind(source, *target)))
          .end_object();
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
