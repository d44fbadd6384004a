// Prints the annotated hex dump of a small artifact that docs/format.md shows. Everything in it is
// fixed, so that it changes only when the format does.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact_reader.h"
#include "temp_dir.h"

namespace synps::testing {
namespace {

constexpr std::size_t kLineBytes = 16;

/// A range of the file and what it is.
struct Part {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::string meaning;
};

void print_line(std::string_view file, std::uint64_t at, std::uint64_t size,
                const std::string& meaning) {
  std::string hex;
  std::string text;
  for (const char c : file.substr(at, size)) {
    hex += fmt::format("{:02x} ", static_cast<unsigned char>(c));
    text += c >= 0x20 && c < 0x7F ? c : '.';
  }
  const std::string line = fmt::format("{:06x}  {:<48} {:<16}  {}", at, hex, text, meaning);
  fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
}

void print_part(std::string_view file, const Part& part) {
  if (part.size == 0) return;
  const std::string_view bytes = file.substr(part.begin, part.size);
  const bool repeats = bytes.find_first_not_of(bytes.front()) == std::string_view::npos;
  if (repeats && part.size > kLineBytes) {
    const std::string run =
        fmt::format("{:02x} × {}", static_cast<unsigned char>(bytes.front()), part.size);
    // The sign × takes two bytes and one column.
    fmt::print("{:06x}  {:<66}{}\n", part.begin, run, part.meaning);
    return;
  }
  for (std::uint64_t at = 0; at < part.size; at += kLineBytes)
    print_line(file, part.begin + at, std::min<std::uint64_t>(kLineBytes, part.size - at),
               at == 0 ? part.meaning : "");
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<WeightToStore> weights() {
  WeightToStore matrix;
  matrix.path = "fc.weight";
  matrix.shape = Shape{2, 32};
  matrix.codec = "q8_0";
  for (int i = 0; i < 64; ++i) matrix.values.push_back(static_cast<float>(i * 4 - 127) / 64.0f);
  WeightToStore bias;
  bias.path = "fc.bias";
  bias.shape = Shape{2};
  bias.codec = "f32";
  bias.values = {0.5f, -2.0f};
  WeightToStore ids;
  ids.path = "ids";
  ids.shape = Shape{3};
  ids.dtype = DType::i16;
  ids.bytes = bytes_of({"\x01\x00\x02\x00\xff\xff", 6});
  WeightToStore norm;
  norm.path = "norm";
  norm.shape = Shape{4};
  norm.dtype = DType::bf16;
  norm.codec = "bf16";
  norm.values = {1.0f, 1.5f, -1.0f, 0.5f};
  norm.compress = {Compression::zstd, kDefaultZstdLevel};
  return {matrix, bias, ids, norm};
}

/// The parts before the components: header, index, sums.
std::vector<Part> leading_parts(std::string_view file, const ArtifactReader& reader) {
  const std::uint64_t index_begin = file.find("{\"codecs\"");
  const std::uint64_t header_end = file.rfind('}', index_begin - 1) + 1;
  std::uint64_t plain = 0;
  std::uint64_t frames = 0;
  std::uint64_t first_entry = file.size();
  for (const StoredWeight& weight : reader.index().weights)
    for (const StoredComponent& stored : weight.components) {
      (stored.compressed() ? frames : plain) += stored.chunks();
      first_entry = std::min(first_entry, reader.file_offset(stored));
    }
  const std::uint64_t index_text = to_json(reader.index()).size();
  const std::uint64_t sums_begin = first_entry - kPageAlignment;
  std::vector<Part> parts = {
      {0, 8, "length of the rest of the header"},
      {8, header_end - 8, "header: JSON"},
      {header_end, index_begin - header_end, "header: spaces up to a multiple of 4096"},
      {index_begin, index_text, "__synps__: JSON"},
      {index_begin + index_text, sums_begin - index_begin - index_text,
       "__synps__: spaces up to a multiple of 4096"}};
  std::uint64_t at = sums_begin;
  const auto append = [&](std::uint64_t size, std::string meaning) {
    parts.push_back({at, size, "__synps_sums__: " + std::move(meaning)});
    at += size;
  };
  for (std::uint64_t i = 0; i < plain + frames; ++i) {
    append(16, fmt::format("digest {}", i));
    if (i >= plain) append(8, "size of the frame");
  }
  append(sums_begin + kPageAlignment - at, "zeros up to a multiple of 4096");
  return parts;
}

/// The fields of a frame of eight bytes that zstd stores raw.
void append_frame(std::vector<Part>& parts, const ArtifactReader& reader,
                  const StoredComponent& stored) {
  std::uint64_t at = reader.file_offset(stored);
  const std::pair<std::uint64_t, const char*> fields[] = {
      {4, "zstd's magic number"},    {2, "descriptor, size of the content"},
      {3, "header of a raw block"},  {4, "byte 0 of each element"},
      {4, "byte 1 of each element"}, {4, "checksum of the content"}};
  for (const auto& [size, meaning] : fields) {
    parts.push_back({at, size, fmt::format("{}: {}", stored.entry, meaning)});
    at += size;
  }
  if (at != reader.file_offset(stored) + stored.stored_bytes)
    throw std::runtime_error("the frame is not as long as its fields");
}

void append_component(std::vector<Part>& parts, const ArtifactReader& reader,
                      const StoredWeight& weight, const StoredComponent& stored) {
  if (stored.compressed()) return append_frame(parts, reader, stored);
  const std::uint64_t rows = weight.weight.shape.rows();
  const std::uint64_t row_bytes = stored.component.bytes / rows;
  std::uint64_t at = reader.file_offset(stored);
  for (std::uint64_t row = 0; row < rows; ++row, at += row_bytes)
    parts.push_back(
        {at, row_bytes, rows == 1 ? stored.entry : fmt::format("{}: row {}", stored.entry, row)});
  parts.push_back({at, stored.stored_bytes - stored.component.bytes,
                   fmt::format("{}: zeros up to a multiple of 64", stored.entry)});
}

void print_dump() {
  const TempDir dir;
  const std::string path = dir.file("example.synps");
  build_artifact(path, weights(), {{"format", "pt"}});
  const std::string file = read_file(path);
  const ArtifactReader reader(path);

  std::vector<Part> parts = leading_parts(file, reader);
  for (const StoredWeight& weight : reader.index().weights)
    for (const StoredComponent& stored : weight.components)
      append_component(parts, reader, weight, stored);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.begin < b.begin; });
  for (const Part& part : parts) print_part(file, part);
  fmt::print("{:06x}  end of the file\n", file.size());
}

}  // namespace

}  // namespace synps::testing

int main() {
  try {
    synps::testing::print_dump();
  } catch (const std::exception& error) {
    fmt::print(stderr, "format_hexdump: error: {}\n", error.what());
    return 1;
  }
  return 0;
}
