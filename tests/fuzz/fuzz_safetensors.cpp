// The safetensors header. An input is four bytes, little-endian, the size of the data section, and
// then the header's text.

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz_support.h"
#include "synps/safetensors.h"

using namespace synps;
using namespace synps::testing;

namespace {

void require_sound(const SafetensorsHeader& header, std::string_view json,
                   std::uint64_t data_bytes) {
  simdjson::dom::parser parser;
  const simdjson::padded_string text(json);
  require(parser.parse(text).error() == simdjson::SUCCESS, "the header is JSON");
  require(header.data_start == 8 + json.size(), "the data follow the header");

  std::vector<std::string> names;
  std::uint64_t end = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    require(entry.begin == end && entry.end >= entry.begin, "no hole and no overlap");
    require(entry.shape.bytes(entry.dtype) == entry.end - entry.begin, "sizes fit");
    require(simdjson::validate_utf8(entry.name), "names are UTF-8");
    names.push_back(entry.name);
    end = entry.end;
  }
  require(end == data_bytes, "the entries cover the data");
  std::sort(names.begin(), names.end());
  require(std::adjacent_find(names.begin(), names.end()) == names.end(), "names differ");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  std::uint64_t data_bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) data_bytes |= std::uint64_t{data[i]} << (8 * i);
  const std::string_view json = text_of(data + 4, size - 4);
  try {
    require_sound(parse_safetensors_header(json, data_bytes, "fuzz"), json, data_bytes);
  } catch (const Error& error) {
    require_useful(error, "fuzz", ErrorCode::checkpoint);
    const auto& offset = error.problems().front().offset;
    require(!offset || (*offset >= 8 && *offset <= 8 + json.size()), "the offset is in the header");
  }
  return 0;
}
