#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "gguf_input.h"
#include "gguf_tensors.h"
#include "gguf_values.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/gguf.h"

namespace synps {
namespace {

// The layout of the header: the GGUF specification (ggml/docs/gguf.md), versions 2 and 3.
constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kPrefixBytes = 24;  // magic, version, counts
constexpr std::uint64_t kMaxKeyBytes = 65535;
constexpr std::uint64_t kLeastKeyValueBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kLeastAlignment = 8;  // the specification wants a multiple of it
constexpr std::uint64_t kMostAlignment = 1 << 20;

class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : input_(file) {}

  GgufHeader read() {
    read_prefix();
    read_key_values();
    read_alignment();
    read_tensors();
    return std::move(header_);
  }

 private:
  void read_prefix();
  void read_version();
  void read_key_values();
  void read_alignment();
  void read_tensors();
  void check_keys();

  GgufInput input_;
  GgufHeader header_;
  std::vector<std::uint64_t> key_offsets_;
  std::uint64_t tensor_count_ = 0;
  std::uint64_t key_count_ = 0;
};

void HeaderReader::read_prefix() {
  if (input_.left() < kPrefixBytes)
    input_.fail({.what = "the file is too short for GGUF",
                 .offset = 0,
                 .found = fmt::format("{} bytes", input_.left()),
                 .want = fmt::format("at least {} bytes", kPrefixBytes)});
  const std::span<const std::byte> magic = input_.take(kMagic.size(), "the magic");
  const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (found != kMagic)
    input_.fail({.what = "the file does not start as GGUF does",
                 .offset = 0,
                 .found = quote(found),
                 .want = quote(kMagic)});
  read_version();
  tensor_count_ = input_.u64("the tensor count");
  key_count_ = input_.u64("the key-value count");
  input_.check_count(tensor_count_, kLeastTensorBytes, "tensors", 8);
  input_.check_count(key_count_, kLeastKeyValueBytes, "key-values", 16);
}

void HeaderReader::read_version() {
  const std::uint32_t version = input_.u32("the version");
  header_.version = version;
  if (version == 2 || version == 3) return;
  const std::uint32_t swapped =
      (version >> 24) | (version >> 8 & 0xFF00) | (version << 8 & 0xFF0000) | (version << 24);
  const bool big_endian = swapped == 2 || swapped == 3;
  input_.fail({.what = big_endian ? "a big-endian GGUF file" : "a GGUF version that is not read",
               .offset = 4,
               .found = big_endian ? fmt::format("version {}, its bytes swapped", swapped)
                                   : fmt::format("version {}", version),
               .want = big_endian ? "little-endian" : "version 2 or 3",
               .hint = big_endian     ? "convert it to little-endian first"
                       : version == 1 ? "convert the model again: version 1 was in use for some "
                                        "days of August 2023"
                                      : ""});
}

void HeaderReader::read_key_values() {
  std::string key;
  for (std::uint64_t i = 0; i < key_count_; ++i) {
    input_.set_place("key-values", nullptr);
    key_offsets_.push_back(input_.offset());
    GgufKeyValue& next = header_.key_values.emplace_back();
    next.key = input_.text("a key", kMaxKeyBytes);
    key = next.key;
    input_.set_place("key", &key);
    if (!is_utf8(key))
      input_.fail({.what = "a key that is not UTF-8", .offset = key_offsets_.back()});
    next.type = read_gguf_value_type(input_);
    scan_gguf_value(input_, next);
  }
  input_.set_place(nullptr, nullptr);
  check_keys();
}

/// By sorting and not by hashing: no choice of keys makes it slow.
void HeaderReader::check_keys() {
  const std::vector<GgufKeyValue>& all = header_.key_values;
  std::vector<std::size_t> order(all.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int order_of_keys = all[a].key.compare(all[b].key);
    return order_of_keys != 0 ? order_of_keys < 0 : a < b;
  });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return all[a].key == all[b].key; });
  if (twice == order.end()) return;
  input_.set_place("key", &all[*twice].key);
  input_.fail({.what = "a key stands twice", .offset = key_offsets_[*(twice + 1)]});
}

void HeaderReader::read_alignment() {
  header_.alignment = kDefaultAlignment;
  const GgufKeyValue* given = header_.find(kAlignmentKey);
  if (given == nullptr) return;
  input_.set_place("key", &given->key);
  if (given->type != GgufValueType::uint32)
    input_.fail({.what = "the alignment has a wrong type",
                 .offset = given->offset,
                 .found = std::string(to_string(given->type)),
                 .want = "uint32"});
  header_.alignment = *GgufValueReader(input_.file()).unsigned_integer(*given);
  if (!std::has_single_bit(header_.alignment) || header_.alignment < kLeastAlignment ||
      header_.alignment > kMostAlignment)
    input_.fail(
        {.what = "an alignment that makes no sense",
         .offset = given->offset,
         .found = fmt::format("{}", header_.alignment),
         .want = fmt::format("a power of two from {} to {}", kLeastAlignment, kMostAlignment)});
}

void HeaderReader::read_tensors() {
  GgufTensorTable table(input_, header_.alignment);
  for (std::uint64_t i = 0; i < tensor_count_; ++i) table.read_next();
  header_.tensors = table.finish();
}

}  // namespace

const GgufKeyValue* GgufHeader::find(std::string_view key) const noexcept {
  const auto at = std::find_if(key_values.begin(), key_values.end(),
                               [&](const GgufKeyValue& each) { return each.key == key; });
  return at == key_values.end() ? nullptr : &*at;
}

bool is_gguf(std::string_view head) noexcept {
  return head.starts_with(kMagic);
}

GgufHeader read_gguf_header(const InputFile& file) {
  return HeaderReader(file).read();
}

}  // namespace synps
