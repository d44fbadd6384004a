// A codec package that breaks the rule that SYNPS_TEST_HOSTILE names, for tests of what the host
// checks. With `late:` before the rule it behaves for the weights of the trial at loading, whose
// paths start with "trial". Without the variable, or with "none", it is sound: codec `hostile` of
// package `hostile` stores the values as they are, and `hostile_sum` one more component for the
// whole weight. Some variants are sound as well: `granule_48`, `granule_4096` and `matrices_only`,
// which take few shapes and refuse to size any other row.
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec_abi.h"

namespace {

// What one loading of the package gets. Never freed: hosts keep tables until the process ends.
struct Variant {
  std::string rule;
  bool late = false;
  mutable std::atomic<unsigned> uses{0};  // calls for weights after the trial
  synps_codec values{};
  synps_codec sum{};
  const synps_codec* codecs[2] = {&values, &sum};
  synps_codec_package package{};
};

struct NoText : std::exception {
  const char* what() const noexcept override { return nullptr; }
};
struct MuchText : std::exception {
  const char* what() const noexcept override {
    static const std::string kText(1u << 20, 'x');
    return kText.c_str();
  }
};

bool asked_for(const char* rule) {
  const char* asked = std::getenv("SYNPS_TEST_HOSTILE");
  return asked != nullptr && std::strcmp(asked, rule) == 0;
}

// Runs when the object is loaded.
const struct Constructor {
  Constructor() {
    if (asked_for("constructor_throws")) throw std::runtime_error("no licence here");
    if (asked_for("constructor_exits")) std::exit(0);
  }
} kConstructor;

const Variant& variant_of(const synps_codec* self) {
  return *static_cast<const Variant*>(self->context);
}

bool in_trial(const synps_codec_weight* weight) {
  return std::string_view(weight->path, weight->path_size).substr(0, 5) == "trial";
}

bool breaks(const synps_codec* self, const char* rule, const synps_codec_weight* weight = nullptr) {
  const Variant& variant = variant_of(self);
  return variant.rule == rule && !(variant.late && weight != nullptr && in_trial(weight));
}

// Answers about sizes that change once the first weight is being encoded or decoded.
bool breaks_later(const synps_codec* self, const char* rule) {
  return breaks(self, rule) && variant_of(self).uses > 0;
}

// Memory that a package only reads.
template <typename T>
T* writable(const T* read_only) {
  return const_cast<T*>(read_only);
}

bool takes_few_shapes(const synps_codec* self) {
  return self->row_granule != 64;
}

bool is_sum(const synps_codec* self) {
  return std::strcmp(self->name, "hostile_sum") == 0;
}

void copy_text(char* to, std::size_t size, std::string_view text) {
  std::memset(to, 0, size);
  std::memcpy(to, text.data(), std::min(size, text.size()));
}

std::int32_t say(char* message, const char* text) {
  std::strcpy(message, text);
  return SYNPS_CODEC_FAILED;
}

std::int32_t supports(const synps_codec* self, const synps_codec_weight* weight,
                      std::uint32_t* supported, char* message, std::size_t) {
  static std::atomic<unsigned> calls{0};
  if (takes_few_shapes(self) && weight->columns % self->row_granule != 0) {
    std::strcpy(message, "the row is no whole number of blocks");
    return *supported = 0, SYNPS_CODEC_OK;
  }
  if (breaks(self, "matrices_only") && weight->rank < 2) {
    std::strcpy(message, "only matrices");
    return *supported = 0, SYNPS_CODEC_OK;
  }
  if (breaks(self, "supports_throws_null", weight)) throw NoText();
  if (breaks(self, "supports_throws_much", weight)) throw MuchText();
  if (breaks(self, "supports_too_large", weight)) return SYNPS_CODEC_TOO_LARGE;
  if (breaks(self, "supports_exits", weight)) std::exit(0);
  if (breaks(self, "supports_writes", weight)) *writable(weight->extents) = 1000;
  if (breaks(self, "supports_changes", weight) && ++calls % 2 == 0) {
    std::strcpy(message, "not now");
    return *supported = 0, SYNPS_CODEC_OK;
  }
  if (breaks(self, "supports_throws", weight)) throw std::runtime_error("no such weight");
  if (breaks(self, "supports_fails", weight)) return say(message, "out\x1b[31m of order");
  if (breaks(self, "supports_answers_nothing", weight)) return SYNPS_CODEC_OK;
  if (breaks(self, "supports_no_reason", weight)) return *supported = 0, SYNPS_CODEC_OK;
  if (breaks(self, "supports_answer_past", weight)) supported[1] = 1;
  *supported = 1;
  return SYNPS_CODEC_OK;
}

std::int32_t components(const synps_codec* self, const synps_codec_weight* weight,
                        synps_codec_component* out, std::size_t capacity, std::size_t* count, char*,
                        std::size_t) {
  static std::atomic<unsigned> calls{0};
  const unsigned call = ++calls;
  copy_text(out[0].name, sizeof out[0].name, "stored");
  out[0].dtype = SYNPS_DTYPE_F32;
  out[0].rank = static_cast<std::uint32_t>(weight->rank);
  for (std::size_t i = 0; i < weight->rank; ++i) out[0].extents[i] = weight->extents[i];
  copy_text(out[1].name, sizeof out[1].name, "sum");
  out[1].dtype = SYNPS_DTYPE_F32;
  out[1].rank = 1;
  out[1].extents[0] = 1;
  out[1].per_weight = 1;
  *count = is_sum(self) ? 2 : 1;
  if (breaks(self, "components_giant", weight)) {
    out[0].extents[out[0].rank++] = std::uint64_t{1} << 30;
  }
  if (breaks(self, "components_giant_sum", weight)) out[1].extents[0] = std::uint64_t{1} << 40;
  if (breaks(self, "components_none", weight)) *count = 0;
  if (breaks(self, "components_many", weight)) *count = capacity + 1;
  if (breaks(self, "components_name", weight)) out[0].name[0] = '#';
  if (breaks(self, "components_name_open", weight)) std::memset(out[0].name, 'a', 64);
  if (breaks(self, "components_dtype", weight)) out[0].dtype = 99;
  if (breaks(self, "components_rank", weight)) out[0].rank = 33;
  if (breaks(self, "components_reserved", weight)) out[0].reserved = 1;
  if (breaks(self, "components_change", weight)) out[0].name[0] = call % 2 == 0 ? 's' : 't';
  if (breaks(self, "components_past", weight)) out[capacity].rank = 1;
  if (breaks(self, "components_before", weight)) out[-1].extents[31] = 1;
  if (breaks(self, "components_twice", weight)) copy_text(out[1].name, 64, "stored"), *count = 2;
  if (breaks(self, "components_per_weight", weight)) out[0].per_weight = 1;
  if (breaks(self, "components_too_large", weight)) return SYNPS_CODEC_TOO_LARGE;
  if (breaks(self, "components_no_memory", weight)) return SYNPS_CODEC_NO_MEMORY;
  return SYNPS_CODEC_OK;
}

std::int32_t row_bytes(const synps_codec* self, std::size_t component, std::uint64_t columns,
                       std::uint64_t* bytes, char* message, std::size_t) {
  if (takes_few_shapes(self) && columns % self->row_granule != 0)
    return say(message, "no whole number of blocks");
  if (columns >> 61 != 0) return SYNPS_CODEC_TOO_LARGE;
  *bytes = component == 0 ? 4 * columns : 0;
  if (breaks(self, "components_giant")) *bytes <<= 30;
  if (breaks(self, "row_bytes_unit_zero") && columns == 65536) *bytes = 0;
  if (breaks(self, "row_bytes_unit_half") && columns == 65536) *bytes /= 2;
  if (breaks_later(self, "row_bytes_zero_later")) *bytes = 0;
  if (breaks_later(self, "row_bytes_half_later")) *bytes /= 2;
  if (breaks_later(self, "row_bytes_twice_later")) *bytes *= 2;
  if (breaks_later(self, "row_bytes_giant_later")) *bytes = std::uint64_t{1} << 62;
  if (breaks(self, "row_bytes_lies")) ++*bytes;
  if (breaks(self, "row_bytes_zero")) *bytes = 0;
  if (breaks(self, "row_bytes_wraps")) *bytes += std::uint64_t{1} << 63;
  if (breaks(self, "row_bytes_does_not_add_up") && columns == 2 * self->row_granule) *bytes -= 4;
  return SYNPS_CODEC_OK;
}

std::int32_t analysis_create(const synps_codec* self, const synps_codec_weight* weight,
                             void** analysis, char*, std::size_t) {
  *analysis = breaks(self, "analysis_null", weight) ? nullptr : new float(0);
  return SYNPS_CODEC_OK;
}

std::int32_t analysis_add(const synps_codec* self, void* analysis, const float* values,
                          std::size_t count, char*, std::size_t) {
  if (breaks(self, "analysis_add_throws")) throw 7;
  if (breaks(self, "analysis_add_writes")) *writable(values) = 8;
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] > 0 && values[i] < 2) *static_cast<float*>(analysis) += 1;
  return SYNPS_CODEC_OK;
}

std::int32_t analysis_store(const synps_codec* self, const void* analysis, std::size_t, void* out,
                            std::size_t size, char*, std::size_t) {
  std::memcpy(out, analysis, breaks(self, "analysis_store_short") ? size - 1 : size);
  if (breaks(self, "analysis_store_past")) static_cast<char*>(out)[size] = 1;
  return SYNPS_CODEC_OK;
}

void analysis_destroy(const synps_codec* self, void* analysis) {
  delete static_cast<float*>(analysis);
  if (breaks(self, "encode_rounds_up")) std::fesetround(FE_UPWARD);
  if (breaks(self, "analysis_destroy_throws")) throw std::runtime_error("destroyed");
}

std::int32_t encode(const synps_codec* self, const synps_codec_piece* piece, const float* values,
                    std::size_t value_count, const void*, const synps_codec_bytes* out, std::size_t,
                    synps_codec_findings* findings, char* message, std::size_t message_size) {
  static std::atomic<unsigned char> calls{0};
  const unsigned char call = ++calls;
  const synps_codec_weight* weight = piece->weight;
  auto* bytes = static_cast<unsigned char*>(out[0].data);
  const std::size_t size = value_count * sizeof(float);
  const std::uint64_t end = piece->first_element + value_count;
  const bool middle = piece->first_element != 0 && end != weight->rows * weight->columns;
  std::size_t written = std::min(size, out[0].size);
  if (breaks(self, "encode_short", weight)) written = size - 1;
  if (breaks(self, "encode_skips_middle", weight) && middle && value_count > 65536) written = 0;
  if (written != 0) std::memcpy(bytes, values, written);  // nothing may be nowhere
  if (!in_trial(weight)) ++variant_of(self).uses;
  if (breaks(self, "encode_rounds_up", weight)) std::fesetround(FE_UPWARD);
  if (breaks(self, "encode_traps", weight)) feenableexcept(FE_ALL_EXCEPT);
  if (breaks(self, "encode_looks_at_rounding", weight) && std::fegetround() != FE_TONEAREST)
    return say(message, "another rounding");
  if (breaks(self, "encode_writes_values", weight)) *writable(values) = 8;
  if (breaks(self, "encode_writes_before_values", weight)) writable(values)[-1] = 8;
  if (breaks(self, "encode_writes_extents", weight)) *writable(weight->extents) = 1;
  if (breaks(self, "encode_writes_path", weight)) *writable(weight->path) = '\n';
  if (breaks(self, "encode_writes_piece", weight)) writable(piece)->rows = 1000;
  if (breaks(self, "encode_exits", weight)) std::exit(0);
  if (breaks(self, "encode_drops_nan", weight))
    for (std::size_t i = 0; i < value_count; ++i)
      if (std::isnan(values[i])) std::memset(bytes + 4 * i, 0, 4);
  if (breaks(self, "encode_reports_one_nan", weight))
    for (std::size_t i = value_count; i-- > 0;)
      if (!std::isfinite(values[i]))
        findings->non_finite = {1, piece->first_element + i, values[i]};
  if (breaks(self, "encode_past", weight)) bytes[size] = 0;
  if (breaks(self, "encode_before", weight)) bytes[-1] = 0;
  if (breaks(self, "encode_changes", weight)) bytes[0] = call;
  if (breaks(self, "encode_mixes_rows", weight)) bytes[0] = static_cast<unsigned char>(piece->rows);
  if (breaks(self, "encode_throws", weight)) throw std::runtime_error("cannot encode");
  if (breaks(self, "encode_throws_int", weight)) throw 7;
  if (breaks(self, "encode_fails", weight)) return say(message, "the codebook is gone");
  if (breaks(self, "encode_status", weight)) return 77;
  if (breaks(self, "encode_message_past", weight)) message[message_size] = 'x';
  if (breaks(self, "encode_message_open", weight)) {
    std::memset(message, 'x', message_size);
    return SYNPS_CODEC_FAILED;
  }
  if (breaks(self, "encode_finds_nothing", weight))
    findings->overflow = {1, piece->first_element, values[0] + 1.0};
  if (breaks(self, "encode_finds_outside", weight))
    findings->underflow = {1, piece->first_element + value_count, 1};
  if (breaks(self, "encode_finds_many", weight))
    findings->underflow = {value_count + 1, piece->first_element, values[0]};
  if (breaks(self, "encode_findings_past", weight)) findings[1].struct_size = 0;
  return SYNPS_CODEC_OK;
}

std::int32_t decode(const synps_codec* self, const synps_codec_piece* piece,
                    const synps_codec_const_bytes* in, std::size_t, float* values,
                    std::size_t value_count, char*, std::size_t) {
  const synps_codec_weight* weight = piece->weight;
  if (!in_trial(weight)) ++variant_of(self).uses;
  if (breaks(self, "decode_writes_bytes", weight)) *static_cast<char*>(writable(in[0].data)) ^= 1;
  const std::size_t short_by = breaks(self, "decode_short", weight) ? 1 : 0;
  const std::size_t read = std::min((value_count - short_by) * sizeof(float), in[0].size);
  if (read != 0) std::memcpy(values, in[0].data, read);
  if (breaks(self, "decode_past", weight)) values[value_count] = 0;
  if (breaks(self, "decode_before", weight)) values[-1] = 0;
  if (breaks(self, "decode_shifts", weight))
    for (std::size_t i = 0; i < value_count; ++i)
      if (std::isfinite(values[i])) values[i] = 1.2345678f;
  if (breaks(self, "decode_throws", weight)) throw std::runtime_error("cannot decode");
  if (breaks(self, "decode_mixes_rows", weight) && std::isfinite(values[0]))
    values[0] = static_cast<float>(piece->rows);
  return SYNPS_CODEC_OK;
}

void graph_decode() {}

synps_codec make_codec(const Variant& variant, const char* name, bool analyses) {
  synps_codec codec{};
  codec.struct_size = sizeof codec;
  codec.revision = 1;
  copy_text(codec.name, sizeof codec.name, name);
  copy_text(codec.summary, sizeof codec.summary, "values as they are");
  copy_text(codec.error_bound, sizeof codec.error_bound, "exact");
  codec.bits_per_weight = 32;
  codec.encodes = 1;
  for (const std::uint32_t dtype :
       {SYNPS_DTYPE_F4, SYNPS_DTYPE_F6_E2M3, SYNPS_DTYPE_F6_E3M2, SYNPS_DTYPE_F8_E5M2,
        SYNPS_DTYPE_F8_E4M3, SYNPS_DTYPE_F8_E8M0, SYNPS_DTYPE_F8_E4M3FNUZ, SYNPS_DTYPE_F8_E5M2FNUZ,
        SYNPS_DTYPE_F16, SYNPS_DTYPE_BF16, SYNPS_DTYPE_F32})
    codec.exact[codec.exact_count++] = dtype;
  codec.row_granule = 64;
  codec.context = &variant;
  codec.supports = supports;
  codec.components = components;
  codec.row_bytes = row_bytes;
  codec.encode = encode;
  codec.decode = decode;
  if (!analyses) return codec;
  codec.needs_analysis = 1;
  codec.analysis_create = analysis_create;
  codec.analysis_add = analysis_add;
  codec.analysis_store = analysis_store;
  codec.analysis_destroy = analysis_destroy;
  return codec;
}

// Rules that the tables break. Returns the table that the entry function gives.
const synps_codec_package* break_tables(Variant& v) {
  const std::string& rule = v.rule;
  if (rule == "entry_throws") throw std::runtime_error("no licence");
  if (rule == "table_null") return nullptr;
  if (rule == "abi_version") v.package.abi_version = 2;
  if (rule == "abi_version_zero") v.package.abi_version = 0;
  if (rule == "struct_size") v.package.struct_size -= 1;
  if (rule == "struct_size_larger") v.package.struct_size += 64;
  if (rule == "package_name") copy_text(v.package.name, 64, "Hostile!");
  if (rule == "package_name_empty") copy_text(v.package.name, 64, "");
  if (rule == "package_name_open") std::memset(v.package.name, 'a', 64);
  if (rule == "package_name_other") copy_text(v.package.name, 64, "friendly");
  if (rule == "codecs_null") v.package.codecs = nullptr;
  if (rule == "codecs_none") v.package.codec_count = 0;
  if (rule == "codecs_many") v.package.codec_count = 257;
  if (rule == "codec_null") v.codecs[1] = nullptr;
  if (rule == "codec_twice") copy_text(v.sum.name, 64, "hostile");
  if (rule == "codec_struct_size") v.values.struct_size = 8;
  if (rule == "codec_name_open") std::memset(v.values.name, 'a', 64);
  if (rule == "codec_name_colon") copy_text(v.values.name, 64, "a:b");
  if (rule == "codec_revision") v.values.revision = 0;
  if (rule == "codec_bits") v.values.bits_per_weight = std::numeric_limits<double>::quiet_NaN();
  if (rule == "codec_summary_open") std::memset(v.values.summary, 'a', sizeof v.values.summary);
  if (rule == "codec_summary_lines") copy_text(v.values.summary, 256, "one\ntwo");
  if (rule == "codec_error_bound") copy_text(v.values.error_bound, 256, "");
  if (rule == "codec_exact_many") v.values.exact_count = 33;
  if (rule == "codec_exact_integer") v.values.exact[0] = SYNPS_DTYPE_I8;
  if (rule == "codec_exact_twice") v.values.exact[0] = v.values.exact[1];
  if (rule == "codec_exact_unknown") v.values.exact[0] = 1000;
  if (rule == "granule_48") v.values.row_granule = v.sum.row_granule = 48;
  if (rule == "granule_4096") v.values.row_granule = v.sum.row_granule = 4096;
  if (rule == "codec_granule") v.values.row_granule = SYNPS_CODEC_MAX_GRANULE + 1;
  if (rule == "codec_flags") v.values.encodes = 2;
  if (rule == "codec_reserved") v.values.reserved = 1;
  if (rule == "codec_no_decode") v.values.decode = nullptr;
  if (rule == "codec_no_encode") v.values.encode = nullptr;
  if (rule == "codec_retired_encode") v.values.encodes = 0;
  if (rule == "codec_retired") v.values.encodes = 0, v.values.encode = nullptr;
  if (rule == "codec_no_analysis") v.sum.analysis_store = nullptr;
  if (rule == "codec_stray_analysis") v.values.analysis_add = analysis_add;
  if (rule == "codec_graph") v.values.graph_decode = graph_decode;
  if (rule == "sum_without_analysis") {
    v.sum.needs_analysis = 0;
    v.sum.analysis_create = nullptr;
    v.sum.analysis_add = nullptr;
    v.sum.analysis_store = nullptr;
    v.sum.analysis_destroy = nullptr;
  }
  return &v.package;
}

}  // namespace

const synps_codec_package* synps_codec_package_v1(std::uint32_t) {
  static auto* variants = new std::vector<std::unique_ptr<Variant>>();
  variants->push_back(std::make_unique<Variant>());
  Variant& v = *variants->back();
  if (asked_for("encode_rounds_up")) std::fesetround(FE_UPWARD);
  if (asked_for("entry_exits")) std::exit(0);
  if (asked_for("entry_throws_null")) throw NoText();
  const char* asked = std::getenv("SYNPS_TEST_HOSTILE");
  v.rule = asked != nullptr ? asked : "none";
  v.late = v.rule.substr(0, 5) == "late:";
  if (v.late) v.rule = v.rule.substr(5);
  v.values = make_codec(v, "hostile", false);
  v.sum = make_codec(v, "hostile_sum", true);
  v.package.struct_size = sizeof v.package;
  v.package.abi_version = SYNPS_CODEC_ABI_VERSION;
  copy_text(v.package.name, sizeof v.package.name, "hostile");
  v.package.codecs = v.codecs;
  v.package.codec_count = 2;
  return break_tables(v);
}
