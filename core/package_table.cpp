#include "package_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "synps/error.h"

namespace synps {
namespace {

// The sizes of the first edition, up to its last fields: what every package of this version has at
// least.
constexpr std::uint32_t kFirstPackageSize =
    offsetof(synps_codec_package, codec_count) + sizeof(std::size_t);
constexpr std::uint32_t kFirstCodecSize = offsetof(synps_codec, graph_decode) + sizeof(void (*)());

/// SYNPS_DTYPE_ numbers, in the order of DType. Both are spelled out: neither may follow the other.
constexpr std::array<std::uint32_t, 22> kAbiNumbers{
    SYNPS_DTYPE_BOOL,    SYNPS_DTYPE_F4,          SYNPS_DTYPE_F6_E2M3,     SYNPS_DTYPE_F6_E3M2,
    SYNPS_DTYPE_U8,      SYNPS_DTYPE_I8,          SYNPS_DTYPE_F8_E5M2,     SYNPS_DTYPE_F8_E4M3,
    SYNPS_DTYPE_F8_E8M0, SYNPS_DTYPE_F8_E4M3FNUZ, SYNPS_DTYPE_F8_E5M2FNUZ, SYNPS_DTYPE_I16,
    SYNPS_DTYPE_U16,     SYNPS_DTYPE_F16,         SYNPS_DTYPE_BF16,        SYNPS_DTYPE_I32,
    SYNPS_DTYPE_U32,     SYNPS_DTYPE_F32,         SYNPS_DTYPE_C64,         SYNPS_DTYPE_F64,
    SYNPS_DTYPE_I64,     SYNPS_DTYPE_U64};
static_assert(static_cast<std::size_t>(DType::u64) + 1 == kAbiNumbers.size());

/// An array of the interface that should hold a NUL-terminated text.
template <std::size_t kSize>
std::string_view text_in(const char (&array)[kSize]) noexcept {
  return {array, static_cast<std::size_t>(std::find(array, array + kSize, '\0') - array)};
}

class TableReader {
 public:
  TableReader(const std::string& name, const std::string& file) : name_(name), file_(file) {}

  std::vector<PackageCodecTable> read(const synps_codec_package* table);

 private:
  void check_versions(std::uint32_t struct_size, std::uint32_t abi_version) const;
  void check_name(std::string_view declared) const;
  PackageCodecTable read_codec(const synps_codec* self, std::size_t number) const;
  void check_functions(const synps_codec& codec, const std::string& id) const;
  CodecInfo info_of(const synps_codec& codec, const std::string& id) const;
  std::string line_in(std::string_view text, const std::string& id, const char* what) const;
  std::vector<DType> exact_of(const synps_codec& codec, const std::string& id) const;

  [[noreturn]] void fail(std::string what, std::string found = {}, std::string want = {},
                         std::string hint = {}) const {
    throw Error({.code = ErrorCode::package,
                 .file = file_,
                 .what = std::move(what),
                 .found = std::move(found),
                 .want = std::move(want),
                 .hint = std::move(hint)});
  }

  const std::string& name_;
  const std::string& file_;
};

std::vector<PackageCodecTable> TableReader::read(const synps_codec_package* table) {
  if (table == nullptr)
    fail("the codec package does not work with this synps",
         fmt::format("no table for version {} of the interface", SYNPS_CODEC_ABI_VERSION));
  // Nothing else may be read before version and size are known.
  check_versions(table->struct_size, table->abi_version);
  check_name(text_in(table->name));
  if (table->codecs == nullptr || table->codec_count == 0 ||
      table->codec_count > SYNPS_CODEC_MAX_CODECS)
    fail("the codec package has no sound list of codecs",
         table->codecs == nullptr ? "a null pointer" : fmt::format("{}", table->codec_count),
         fmt::format("1 to {} codecs", SYNPS_CODEC_MAX_CODECS));
  std::vector<PackageCodecTable> codecs;
  for (std::size_t i = 0; i < table->codec_count; ++i) {
    PackageCodecTable codec = read_codec(table->codecs[i], i);
    for (const PackageCodecTable& other : codecs)
      if (other.info.name == codec.info.name)
        fail("the codec package exports one name twice", codec.info.id());
    codecs.push_back(std::move(codec));
  }
  return codecs;
}

void TableReader::check_versions(std::uint32_t struct_size, std::uint32_t abi_version) const {
  if (abi_version != SYNPS_CODEC_ABI_VERSION)
    fail("the codec package has another version of the interface",
         fmt::format("version {}", abi_version), fmt::format("version {}", SYNPS_CODEC_ABI_VERSION),
         abi_version > SYNPS_CODEC_ABI_VERSION ? "use a newer synps"
                                               : "build the package with this synps's header");
  if (struct_size < kFirstPackageSize)
    fail("the table of the codec package is too small", fmt::format("{} bytes", struct_size),
         fmt::format("at least {}", kFirstPackageSize));
}

void TableReader::check_name(std::string_view declared) const {
  if (!is_package_name(declared))
    fail("the codec package has an unusable name", quote(declared),
         "lower-case letters, digits and underscores, fewer than 64");
  if (declared == "keep") fail("a codec package cannot be called 'keep'");
  if (declared != name_)
    fail("the codec package has another name", quote(declared), quote(name_),
         fmt::format("load it as {}: artifacts name their codecs by it", declared));
}

PackageCodecTable TableReader::read_codec(const synps_codec* self, std::size_t number) const {
  if (self == nullptr)
    fail(fmt::format("codec number {} of the package is a null pointer", number));
  if (self->struct_size < kFirstCodecSize)
    fail(fmt::format("the table of codec number {} of the package is too small", number),
         fmt::format("{} bytes", self->struct_size), fmt::format("at least {}", kFirstCodecSize));
  PackageCodecTable table;
  table.self = self;
  // A table of a newer package is longer; what is beyond is unknown here.
  std::memcpy(&table.functions, self, std::min<std::size_t>(self->struct_size, sizeof *self));
  const synps_codec& codec = table.functions;
  const std::string_view name = text_in(codec.name);
  if (!is_package_name(name))
    fail(fmt::format("codec number {} of the package has an unusable name", number), quote(name),
         "lower-case letters, digits and underscores, fewer than 64");
  const std::string id = fmt::format("{}:{}", name_, name);
  check_functions(codec, id);
  table.info = info_of(codec, id);
  return table;
}

void TableReader::check_functions(const synps_codec& codec, const std::string& id) const {
  if (codec.encodes > 1 || codec.needs_analysis > 1 || codec.reserved != 0)
    fail(fmt::format("codec {}: its flags cannot be", id),
         fmt::format("encodes {}, needs_analysis {}, reserved {}", codec.encodes,
                     codec.needs_analysis, codec.reserved),
         "0 or 1, and 0 for what is reserved");
  const bool encodes = codec.encodes == 1;
  const bool analyses = codec.needs_analysis == 1;
  const struct {
    const char* name;
    bool is_there;
    bool wanted;
  } functions[] = {{"supports", codec.supports != nullptr, true},
                   {"components", codec.components != nullptr, true},
                   {"row_bytes", codec.row_bytes != nullptr, true},
                   {"encode", codec.encode != nullptr, encodes},
                   {"decode", codec.decode != nullptr, true},
                   {"analysis_create", codec.analysis_create != nullptr, analyses},
                   {"analysis_add", codec.analysis_add != nullptr, analyses},
                   {"analysis_store", codec.analysis_store != nullptr, analyses},
                   {"analysis_destroy", codec.analysis_destroy != nullptr, analyses}};
  for (const auto& function : functions)
    if (function.is_there != function.wanted)
      fail(fmt::format("codec {}: its function {}", id, function.name),
           function.is_there ? "a function" : "a null pointer",
           function.wanted ? "a function" : "a null pointer");
}

CodecInfo TableReader::info_of(const synps_codec& codec, const std::string& id) const {
  CodecInfo info;
  info.package = name_;
  info.name = text_in(codec.name);
  info.revision = codec.revision;
  info.encodes = codec.encodes == 1;
  info.bits_per_weight = codec.bits_per_weight;
  info.summary = line_in(text_in(codec.summary), id, "summary");
  info.error_bound = line_in(text_in(codec.error_bound), id, "error bound");
  info.exact = exact_of(codec, id);
  info.file = file_;
  if (info.revision == 0) fail(fmt::format("codec {}: its revision", id), "0", "1 or more");
  if (!std::isfinite(info.bits_per_weight) || info.bits_per_weight <= 0 ||
      info.bits_per_weight > 64)
    fail(fmt::format("codec {}: its bits per weight", id), fmt::format("{}", info.bits_per_weight),
         "more than 0 and at most 64");
  if (codec.row_granule > SYNPS_CODEC_MAX_GRANULE)
    fail(fmt::format("codec {}: its row granule", id), fmt::format("{}", codec.row_granule),
         fmt::format("at most {}", SYNPS_CODEC_MAX_GRANULE));
  return info;
}

std::string TableReader::line_in(std::string_view text, const std::string& id,
                                 const char* what) const {
  if (text.empty() || text.size() >= SYNPS_CODEC_TEXT_SIZE || escape_for_display(text) != text)
    fail(fmt::format("codec {}: its {}", id, what), quote(text),
         fmt::format("one line of UTF-8, fewer than {} bytes", SYNPS_CODEC_TEXT_SIZE));
  return std::string(text);
}

std::vector<DType> TableReader::exact_of(const synps_codec& codec, const std::string& id) const {
  if (codec.exact_count > SYNPS_CODEC_MAX_EXACT)
    fail(fmt::format("codec {}: its list of exact dtypes", id),
         fmt::format("{} entries", codec.exact_count),
         fmt::format("at most {}", SYNPS_CODEC_MAX_EXACT));
  std::vector<DType> exact;
  for (std::uint32_t i = 0; i < codec.exact_count; ++i) {
    const std::optional<DType> dtype = dtype_of_abi(codec.exact[i]);
    if (!dtype) continue;  // one that a newer host knows
    if (!dtype_is_float(*dtype) || std::find(exact.begin(), exact.end(), *dtype) != exact.end())
      fail(fmt::format("codec {}: its list of exact dtypes", id),
           fmt::format("number {}", codec.exact[i]), "floating-point dtypes, each once");
    exact.push_back(*dtype);
  }
  return exact;
}

}  // namespace

std::vector<PackageCodecTable> read_package_tables(const synps_codec_package* table,
                                                   const std::string& name,
                                                   const std::string& file) {
  return TableReader(name, file).read(table);
}

bool is_package_name(std::string_view name) noexcept {
  return !name.empty() && name.size() < SYNPS_CODEC_NAME_SIZE &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::optional<DType> dtype_of_abi(std::uint32_t number) noexcept {
  const auto* at = std::find(kAbiNumbers.begin(), kAbiNumbers.end(), number);
  if (at == kAbiNumbers.end()) return std::nullopt;
  return static_cast<DType>(at - kAbiNumbers.begin());
}

std::uint32_t abi_of_dtype(DType dtype) noexcept {
  return kAbiNumbers[static_cast<std::size_t>(dtype)];
}

}  // namespace synps
