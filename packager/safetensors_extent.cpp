#include "safetensors_extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace synps {
namespace {

std::string field_text(const SafetensorsEntry& entry, std::string_view field = {}) {
  return JsonField{.kind = "tensor", .name = entry.name, .field = field}.text();
}

std::string range_text(const SafetensorsEntry& entry) {
  return fmt::format("[{}, {}]", entry.begin, entry.end);
}

/// By sorting and not by hashing: no choice of names makes it slow.
void check_names(const JsonDocument& json, const std::vector<PlacedEntry>& entries) {
  std::vector<const PlacedEntry*> by_name;
  by_name.reserve(entries.size());
  for (const PlacedEntry& placed : entries) by_name.push_back(&placed);
  std::sort(by_name.begin(), by_name.end(), [](const PlacedEntry* a, const PlacedEntry* b) {
    return std::tie(a->entry.name, a->name_at) < std::tie(b->entry.name, b->name_at);
  });
  const auto same_name = [](const PlacedEntry* a, const PlacedEntry* b) {
    return a->entry.name == b->entry.name;
  };
  const auto twice = std::adjacent_find(by_name.begin(), by_name.end(), same_name);
  if (twice != by_name.end())
    json.fail({.what = "a tensor name stands twice", .field = field_text((*twice)->entry)},
              (*(twice + 1))->name_at);
}

void check_size(const JsonDocument& json, const PlacedEntry& placed) {
  const SafetensorsEntry& entry = placed.entry;
  if (entry.end < entry.begin)
    json.fail({.what = "data_offsets end before they begin",
               .field = field_text(entry, "data_offsets"),
               .found = range_text(entry)},
              placed.offsets_at);
  const auto bytes = entry.shape.bytes(entry.dtype);
  const std::string kind =
      fmt::format("shape {} of {}", entry.shape.to_string(), dtype_name(entry.dtype));
  if (!bytes)
    json.fail({.what = "the tensor's size is not a whole number of bytes that fits 64 bits",
               .field = field_text(entry, "shape"),
               .found = kind},
              placed.name_at);
  if (entry.end - entry.begin != *bytes)
    json.fail({.what = "the tensor's size is not what its shape and dtype need",
               .field = field_text(entry, "data_offsets"),
               .found = fmt::format("{} bytes", entry.end - entry.begin),
               .want = fmt::format("{} bytes for {}", *bytes, kind)},
              placed.offsets_at);
}

/// `previous` is the entry before in the data section, null for the first.
void check_begin(const JsonDocument& json, const PlacedEntry& placed, const PlacedEntry* previous) {
  const std::uint64_t want = previous == nullptr ? 0 : previous->entry.end;
  if (placed.entry.begin == want) return;
  const bool hole = placed.entry.begin > want;
  const std::string after =
      previous == nullptr ? "the start of the data" : field_text(previous->entry);
  json.fail(
      {.what = hole ? "a hole in the data lies before the tensor"
                    : "the tensor overlaps the one before",
       .field = field_text(placed.entry, "data_offsets"),
       .found = fmt::format("begin {}", placed.entry.begin),
       .want = fmt::format("{}, where {} {}", want, after, previous == nullptr ? "is" : "ends")},
      placed.offsets_at);
}

}  // namespace

void check_entries(const JsonDocument& json, std::vector<PlacedEntry>& entries,
                   std::uint64_t data_bytes) {
  check_names(json, entries);
  for (const PlacedEntry& placed : entries) check_size(json, placed);
  std::sort(entries.begin(), entries.end(), [](const PlacedEntry& a, const PlacedEntry& b) {
    return std::tie(a.entry.begin, a.entry.end, a.entry.name) <
           std::tie(b.entry.begin, b.entry.end, b.entry.name);
  });
  const PlacedEntry* previous = nullptr;
  for (const PlacedEntry& placed : entries) {
    check_begin(json, placed, previous);
    previous = &placed;
  }
  const std::uint64_t end = previous == nullptr ? 0 : previous->entry.end;
  if (end == data_bytes) return;
  const bool cut = end > data_bytes;
  json.fail({.what = cut ? "the file ends before its tensors do" : "bytes follow the last tensor",
             .field = previous == nullptr ? "" : field_text(previous->entry, "data_offsets"),
             .found = fmt::format("{} bytes of data", data_bytes),
             .want = fmt::format("{} bytes", end),
             .hint = cut ? "the file may be cut short; fetch it again" : ""},
            previous == nullptr ? nullptr : previous->offsets_at);
}

}  // namespace synps
