#include <simdjson.h>

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "artifact_index_rows.h"

namespace synps {
namespace {

constexpr std::size_t kMaxRank = 8;
// Letters of a weight's row besides what varies in it: no row is shorter.
constexpr std::size_t kShortestRow = 300;

/// The names of one field repeat from row to row: the last one is remembered.
template <typename Value>
class Named {
 public:
  template <typename Parse>
  bool read(std::string_view name, const Parse& parse, Value& value) {
    if (name != name_ || name.empty()) {
      const std::optional<Value> parsed = parse(name);
      if (!parsed) return false;
      name_ = name;
      value_ = *parsed;
    }
    value = value_;
    return true;
  }

 private:
  std::string_view name_;  // in the text
  Value value_{};
};

class Scanner {
 public:
  Scanner(std::string_view text, const IndexTables& tables)
      : at_(text.data()), end_(text.data() + text.size()), tables_(tables) {}

  bool scan(ScannedWeights& scanned) {
    if (at_ == end_) return true;
    std::vector<StoredWeight>& weights = scanned.weights;
    do {
      StoredWeight& weight = weights.emplace_back();
      if (!scan_weight(weight)) return false;
      const std::size_t count = weights.size();
      if (count > 1 && !(weights[count - 2].weight.path < weight.weight.path)) return false;
    } while (is(","));
    scanned.compressed = compressed_;
    return at_ == end_;
  }

 private:
  /// Whether the text goes on so; then it is behind it.
  template <std::size_t kSize>
  bool is(const char (&text)[kSize]) noexcept {
    constexpr std::size_t kLength = kSize - 1;
    if (static_cast<std::size_t>(end_ - at_) < kLength) return false;
    if (std::memcmp(at_, text, kLength) != 0) return false;
    at_ += kLength;
    return true;
  }

  bool integer(std::uint64_t& value) noexcept {
    const char* const begin = at_;
    std::uint64_t read = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(*at_ - '0');
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
      if (read > kMost / 10 || (read == kMost / 10 && digit > kMost % 10)) return false;
      read = 10 * read + digit;
    }
    value = read;
    return at_ == begin + 1 || (at_ != begin && *begin != '0');
  }

  /// The rest of a string whose quote has been read, without escapes.
  bool string(std::string_view& value) noexcept {
    const char* const begin = at_;
    for (; at_ != end_; ++at_) {
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        value = {begin, static_cast<std::size_t>(at_ - begin)};
        ++at_;
        return true;
      }
      if (c == '\\' || c < 0x20) return false;
    }
    return false;
  }
  bool string(std::string& value) {
    std::string_view view;
    if (!string(view)) return false;
    value.assign(view);
    return true;
  }

  bool boolean(bool& value) noexcept {
    value = is("true");
    return value || is("false");
  }

  template <typename Value, typename Parse>
  bool named(Named<Value>& names, const Parse& parse, Value& value) {
    std::string_view name;
    return string(name) && names.read(name, parse, value);
  }

  template <typename Row>
  bool referred(const std::vector<Row>& table, const Row*& row) noexcept {
    std::uint64_t number = 0;
    if (!integer(number) || number >= table.size()) return false;
    row = &table[number];
    return true;
  }

  bool shape(Shape& value) {
    std::array<std::uint64_t, kMaxRank> extents{};
    std::size_t rank = 0;
    if (!is("[")) return false;
    if (!is("]")) {
      do {
        if (rank == kMaxRank || !integer(extents[rank++])) return false;
      } while (is(","));
      if (!is("]")) return false;
    }
    auto made = Shape::make({extents.begin(), extents.begin() + rank});
    if (!made) return false;
    value = std::move(*made);
    return true;
  }

  bool size(Compression compression, std::uint64_t& value) noexcept {
    if (compression == Compression::none) return integer(value);
    std::string_view digits;
    if (!is("\"") || !string(digits)) return false;
    const auto read = hex_from(digits);
    value = read.value_or(0);
    return read.has_value();
  }

  bool scan_component(StoredComponent& stored) {
    Component& component = stored.component;
    return is("{\"bytes\":") && integer(component.bytes) &&                    //
           is(",\"chunk_bytes\":") && integer(stored.chunk_bytes) &&           //
           is(",\"chunk_rows\":") && integer(stored.chunk_rows) &&             //
           is(",\"compression\":\"") &&                                        //
           named(compressions_, compression_from, stored.compression) &&       //
           is(",\"digest\":") && integer(stored.first_digest) &&               //
           is(",\"dtype\":\"") &&                                              //
           named(component_dtypes_, dtype_from_name, component.dtype) &&       //
           is(",\"entry\":\"") && string(stored.entry) &&                      //
           is(",\"name\":\"") && string(component.name) &&                     //
           is(",\"offset\":") && size(stored.compression, stored.offset) &&    //
           is(",\"order\":\"") && named(orders_, order_from, stored.order) &&  //
           is(",\"per_weight\":") && boolean(component.per_weight) &&          //
           is(",\"shape\":") && shape(component.shape) &&                      //
           is(",\"stored_bytes\":") && size(stored.compression, stored.stored_bytes) && is("}") &&
           !fault_of(stored);
  }

  bool scan_components(std::vector<StoredComponent>& components) {
    do {
      StoredComponent& stored = components.emplace_back();
      if (!scan_component(stored)) return false;
      compressed_ = compressed_ || stored.compressed();
    } while (is(","));
    return true;
  }

  bool scan_history(std::vector<CodecRef>& history) {
    if (!is(",\"history\":[")) return true;
    do {
      const CodecRef* codec = nullptr;
      if (!referred(tables_.codecs, codec)) return false;
      history.push_back(*codec);
    } while (is(","));
    return is("]");
  }

  bool scan_scale(std::optional<StoredScale>& scale) {
    if (!is(",\"scale\":{\"folded\":")) return true;
    StoredScale& row = scale.emplace();
    return boolean(row.folded) && is(",\"form\":\"") &&
           named(scale_forms_, scale_form_from, row.form) && is(",\"path\":\"") &&
           string(row.path) && is("}");
  }

  bool scan_scheme(std::optional<Scheme>& scheme) {
    if (is("null")) return true;
    const Scheme* row = nullptr;
    if (!referred(tables_.schemes, row)) return false;
    scheme = *row;
    return true;
  }

  bool scan_weight(StoredWeight& weight) {
    const CodecRef* codec = nullptr;
    const SharedList<Decision>* decisions = nullptr;
    const IndexTables::Form* form = nullptr;
    const bool sound =
        is("{\"codec\":") && referred(tables_.codecs, codec) &&                          //
        is(",\"components\":[") && scan_components(weight.components) &&                 //
        is("],\"compute\":\"") && string(weight.compute) &&                              //
        is(",\"decisions\":") && referred(tables_.decisions, decisions) &&               //
        is(",\"device\":\"") && string(weight.device) &&                                 //
        is(",\"dtype\":\"") && named(dtypes_, dtype_from_name, weight.weight.dtype) &&   //
        is(",\"form\":") && referred(tables_.forms, form) &&                             //
        scan_history(weight.history) &&                                                  //
        is(",\"lossless\":") && boolean(weight.lossless) &&                              //
        is(",\"path\":\"") && string(weight.weight.path) &&                              //
        scan_scale(weight.scale) && is(",\"scheme\":") && scan_scheme(weight.scheme) &&  //
        is(",\"shape\":") && shape(weight.weight.shape) &&                               //
        is(",\"source\":\"") && string(weight.source) && is("}");
    if (!sound) return false;
    weight.codec = *codec;
    weight.decisions = *decisions;
    weight.asked = form->asked;
    weight.form = form->form;
    return !fault_of(weight);
  }

  const char* at_;
  const char* end_;
  const IndexTables& tables_;
  bool compressed_ = false;
  Named<Compression> compressions_;
  Named<DType> component_dtypes_;
  Named<DType> dtypes_;
  Named<Order> orders_;
  Named<ScaleForm> scale_forms_;
};

}  // namespace

std::optional<ScannedWeights> scan_weights(std::string_view text, const IndexTables& tables) {
  if (!simdjson::validate_utf8(text.data(), text.size())) return std::nullopt;
  ScannedWeights scanned;
  scanned.weights.reserve(text.size() / kShortestRow + 1);
  if (!Scanner(text, tables).scan(scanned)) return std::nullopt;
  return scanned;
}

}  // namespace synps
