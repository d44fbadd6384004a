#include "package_views.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "package_table.h"
#include "synps/error.h"

namespace synps {
namespace {

/// A finding must be one: of a value that is there and of that kind.
void add_finding(const PackageCall& call, const char* name, const synps_codec_finding& told,
                 const Piece& piece, std::span<const float> values, bool (*is_one)(float),
                 ValueReport::Finding& finding) {
  if (told.count == 0) return;
  const bool inside = told.count <= values.size() && told.first_index >= piece.first_element &&
                      told.first_index - piece.first_element < values.size();
  const float value = inside ? values[told.first_index - piece.first_element] : 0.0f;
  const bool same = static_cast<double>(value) == told.first_value ||
                    (std::isnan(value) && std::isnan(told.first_value));
  if (!inside || !same || !is_one(value))
    throw_package_fault(call, fmt::format("reports {} where there is none", name),
                        fmt::format("{} of them, the first {} at element {}", told.count,
                                    told.first_value, told.first_index));
  finding.merge({told.count, told.first_index, told.first_value});
}

/// A codec gives NaN and infinities back, or reports every one.
void check_non_finite(const PackageCall& call, const synps_codec_finding& told, const Piece& piece,
                      std::span<const float> values) {
  if (told.count == 0) return;
  const auto is_one = [](float v) { return !std::isfinite(v); };
  const auto there =
      static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), is_one));
  const auto first = std::find_if(values.begin(), values.end(), is_one) - values.begin();
  const std::uint64_t index = piece.first_element + static_cast<std::uint64_t>(first);
  if (told.count != there || told.first_index != index)
    throw_package_fault(
        call, "reports only some of the values that are not finite",
        fmt::format("{} of them, the first at element {}", told.count, told.first_index),
        fmt::format("{}, the first at element {}, or none where all come back", there, index));
}

/// Never none: a package may look at the first where there is no rank.
std::span<const std::uint64_t> extents_for_package(const Weight& weight) {
  static constexpr std::uint64_t kNone[1] = {0};
  if (weight.shape.elements() == 0 || weight.shape.rank() == 0) return kNone;
  return weight.shape.extents();
}

bool same_finding(const synps_codec_finding& a, const synps_codec_finding& b) {
  return a.count == b.count && (a.count == 0 || a.first_index == b.first_index);
}

}  // namespace

PackageWeight::PackageWeight(const Weight& weight)
    : path_(std::as_bytes(std::span(weight.path.c_str(), weight.path.size() + 1)),
            GuardedBytes::kFewGuardBytes),
      extents_(std::as_bytes(extents_for_package(weight)), GuardedBytes::kFewGuardBytes) {
  const bool empty = weight.shape.elements() == 0;
  synps_codec_weight& view = view_.value;
  view.struct_size = sizeof view;
  view.dtype = abi_of_dtype(weight.dtype);
  view.path = reinterpret_cast<const char*>(path_.data());
  view.path_size = weight.path.size();
  view.extents = reinterpret_cast<const std::uint64_t*>(extents_.data());
  view.rank = empty ? 1 : weight.shape.rank();
  view.rows = empty ? 1 : weight.shape.rows();
  view.columns = empty ? 0 : weight.shape.columns();
  as_given_ = view;
}

void PackageWeight::check(const PackageCall& call) const {
  path_.check(call, "the weight's path");
  extents_.check(call, "the weight's extents");
  view_.check(call, "the weight");
  if (std::memcmp(&view_.value, &as_given_, sizeof as_given_) != 0)
    throw_package_fault(call, "wrote to the weight, which it only reads");
}

PackagePiece::PackagePiece(const Piece& piece) : weight_(*piece.weight) {
  synps_codec_piece& view = view_.value;
  view.struct_size = sizeof view;
  view.weight = weight_.view();
  view.first_element = piece.first_element;
  view.rows = piece.rows;
  view.columns = piece.columns;
  as_given_ = view;
}

void PackagePiece::check(const PackageCall& call) const {
  weight_.check(call);
  view_.check(call, "the piece");
  if (std::memcmp(&view_.value, &as_given_, sizeof as_given_) != 0)
    throw_package_fault(call, "wrote to the piece, which it only reads");
}

Component component_from_package(const PackageCall& call, const Weight& weight,
                                 const synps_codec_component& record) {
  const char* end = std::find(record.name, record.name + sizeof record.name, '\0');
  Component component;
  component.name.assign(record.name, end);
  if (!is_package_name(component.name))
    throw_package_fault(call, "gives a component an unusable name", quote(component.name),
                        "lower-case letters, digits and underscores, fewer than 64");
  const std::optional<DType> dtype = dtype_of_abi(record.dtype);
  if (!dtype || record.per_weight > 1 || record.rank > SYNPS_CODEC_MAX_RANK || record.reserved != 0)
    throw_package_fault(call, fmt::format("describes component {} wrongly", component.name),
                        fmt::format("dtype {}, per_weight {}, rank {}, reserved {}", record.dtype,
                                    record.per_weight, record.rank, record.reserved));
  component.dtype = *dtype;
  component.per_weight = record.per_weight == 1;
  const bool stores_nothing = weight.shape.elements() == 0 && !component.per_weight;
  auto shape =
      stores_nothing ? Shape{0} : Shape::make({record.extents, record.extents + record.rank});
  const auto bytes = shape ? shape->bytes(*dtype) : std::nullopt;
  if (!bytes)
    throw Error(
        {.code = ErrorCode::limit,
         .file = call.codec.info.file,
         .what = fmt::format("the size of component {} does not fit 64 bits", component.name),
         .field = weight.path,
         .found = "shape " + weight.shape.to_string()});
  component.shape = *std::move(shape);
  component.bytes = *bytes;
  return component;
}

void add_package_findings(const PackageCall& call, const synps_codec_findings& told,
                          const Piece& piece, std::span<const float> values, ValueReport& report) {
  const auto is_number = [](float v) { return std::isfinite(v) && v != 0; };
  add_finding(call, "overflow", told.overflow, piece, values, is_number, report.overflow);
  add_finding(
      call, "a value that is not finite", told.non_finite, piece, values,
      [](float v) { return !std::isfinite(v); }, report.non_finite);
  check_non_finite(call, told.non_finite, piece, values);
  add_finding(call, "underflow", told.underflow, piece, values, is_number, report.underflow);
}

bool same_package_findings(const synps_codec_findings& a, const synps_codec_findings& b) noexcept {
  return same_finding(a.overflow, b.overflow) && same_finding(a.non_finite, b.non_finite) &&
         same_finding(a.underflow, b.underflow);
}

bool same_decoded(std::span<const float> a, std::span<const float> b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), [](const float& x, const float& y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
  });
}

EncodedBytes::EncodedBytes(const Spans& out) {
  memory_.reserve(out.size());
  for (const std::span<std::byte> bytes : out) {
    memory_.emplace_back(bytes.size());
    for_package_.push_back({bytes.empty() ? nullptr : memory_.back().data(), bytes.size()});
  }
}

void EncodedBytes::fill(std::byte with) noexcept {
  for (GuardedBytes& each : memory_) each.fill(with);
}

void EncodedBytes::check(const PackageCall& call) const {
  for (std::size_t c = 0; c < memory_.size(); ++c)
    memory_[c].check(call, fmt::format("component {}", c));
}

void EncodedBytes::copy_to(const Spans& out) noexcept {
  for (std::size_t c = 0; c < out.size(); ++c)
    if (!out[c].empty()) std::memcpy(out[c].data(), memory_[c].data(), out[c].size());
}

bool EncodedBytes::equals(const Spans& out) noexcept {
  for (std::size_t c = 0; c < out.size(); ++c)
    if (!std::equal(out[c].begin(), out[c].end(), memory_[c].data())) return false;
  return true;
}

}  // namespace synps
