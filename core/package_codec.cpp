#include "package_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "package_analysis.h"
#include "package_table.h"
#include "package_views.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

class PackageCodec final : public Codec {
 public:
  explicit PackageCodec(PackageCodecTable table)
      : table_(std::make_shared<const PackageCodecTable>(std::move(table))) {}

  const CodecInfo& info() const noexcept override { return table_->info; }
  std::uint64_t row_granule() const noexcept override { return table_->functions.row_granule; }

  Support supports(const Weight& weight) const override;
  std::vector<Component> components(const Weight& weight) const override;
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override;
  std::unique_ptr<Analysis> begin_analysis(const Weight& weight) const override;
  void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override;
  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override;

 private:
  Support ask_support(const Weight& weight) const;
  std::vector<Component> ask_components(const Weight& weight) const;
  std::uint64_t ask_row_bytes(const PackageCall& call, std::size_t component,
                              std::uint64_t columns) const;
  void check_sizes(const Weight& weight, const std::vector<Component>& components) const;
  void check_component(const Weight& weight, std::size_t c, const Component& component) const;
  void check_vector_units(const Weight& weight, std::size_t c, const Component& component) const;
  /// Calls body(part) for the parts of a piece, in order.
  template <typename Body>
  void in_parts(const Piece& piece, Body body) const;
  /// Where a part's bytes are in those of its piece; throws Error(package) when they are not.
  template <typename Byte>
  std::span<Byte> part_bytes(std::size_t component, const Piece& piece, const Piece& part,
                             std::span<Byte> bytes) const;
  void encode_part(const Piece& part, std::span<const float> values, const Analysis* analysis,
                   const std::vector<std::span<std::byte>>& out, ValueReport& report) const;
  bool is_per_weight(const Weight& weight, std::size_t c, std::uint64_t columns) const;
  synps_codec_findings call_encode(const PackageCall& call, const PackagePiece& piece,
                                   std::span<const float> values, const Analysis* analysis,
                                   const EncodedBytes& encoded) const;
  void decode_part(const Piece& part, const std::vector<synps_codec_const_bytes>& in,
                   std::span<float> out) const;
  void call_decode(const PackageCall& call, const PackagePiece& piece,
                   const std::vector<synps_codec_const_bytes>& in, GuardedBytes& values) const;

  std::shared_ptr<const PackageCodecTable> table_;
};

/// Faults show at the ends of a weight: there, a call is made twice. So it is for one part of
/// kWatchedParts between them, the second first; which ones depends on nothing but their place.
bool is_watched(const Piece& part) noexcept {
  return part.first_element == 0 ||
         part.first_element + part.elements() == part.weight->shape.elements() ||
         part.first_element / kPackagePart % kWatchedParts == 1;
}

Support PackageCodec::supports(const Weight& weight) const {
  const Shape& shape = weight.shape;
  if (shape.elements() == 0) return Support::yes();
  if (shape.rank() > SYNPS_CODEC_MAX_RANK)
    return Support::no(fmt::format("rank {} is more than {}, what codec packages take",
                                   shape.rank(), SYNPS_CODEC_MAX_RANK));
  if (row_granule() == 0 && shape.columns() > SYNPS_CODEC_MAX_GRANULE)
    return Support::no(
        fmt::format("row length {} is more than {}, and {} needs a whole row in memory",
                    shape.columns(), SYNPS_CODEC_MAX_GRANULE, info().id()));
  Support support = ask_support(weight);
  if (ask_support(weight).ok != support.ok)
    throw_package_fault({*table_, "supports", weight.path}, "answers differently each time");
  return support;
}

Support PackageCodec::ask_support(const Weight& weight) const {
  const PackageCall call{*table_, "supports", weight.path};
  const PackageWeight seen(weight);
  Guarded<std::uint32_t> supported(~std::uint32_t{0});  // neither answer
  std::string reason = call_package(call, [&](char* message, std::size_t size) {
    return table_->functions.supports(table_->self, seen.view(), &supported.value, message, size);
  });
  supported.check(call, "its answer");
  seen.check(call);
  if (supported.value == 1) return Support::yes();
  if (supported.value != 0)
    throw_package_fault(call, "gave no answer", fmt::format("{}", supported.value), "0 or 1");
  if (reason.empty()) throw_package_fault(call, "refuses a weight without a reason");
  return Support::no(std::move(reason));
}

std::vector<Component> PackageCodec::ask_components(const Weight& weight) const {
  const PackageCall call{*table_, "components", weight.path};
  const PackageWeight seen(weight);
  GuardedBytes memory(SYNPS_CODEC_MAX_COMPONENTS * sizeof(synps_codec_component));
  memory.fill(std::byte{0});
  Guarded<std::size_t> count(0);
  run_package(call, [&](char* message, std::size_t size) {
    return table_->functions.components(table_->self, seen.view(),
                                        reinterpret_cast<synps_codec_component*>(memory.data()),
                                        SYNPS_CODEC_MAX_COMPONENTS, &count.value, message, size);
  });
  count.check(call, "its count");
  memory.check(call, "its records");
  seen.check(call);
  if (count.value == 0 || count.value > SYNPS_CODEC_MAX_COMPONENTS)
    throw_package_fault(call, "gives a count that cannot be", fmt::format("{}", count.value),
                        fmt::format("1 to {}", SYNPS_CODEC_MAX_COMPONENTS));
  std::vector<Component> components;
  for (std::size_t c = 0; c < count.value; ++c) {
    synps_codec_component record;
    std::memcpy(&record, memory.data() + c * sizeof record, sizeof record);
    components.push_back(component_from_package(call, weight, record));
    for (std::size_t other = 0; other < c; ++other)
      if (components[other].name == components[c].name)
        throw_package_fault(call, "gives two components one name", components[c].name);
  }
  return components;
}

void PackageCodec::check_sizes(const Weight& weight,
                               const std::vector<Component>& components) const {
  for (std::size_t c = 0; c < components.size(); ++c) {
    check_component(weight, c, components[c]);
    check_vector_units(weight, c, components[c]);
  }
  if (std::all_of(components.begin(), components.end(),
                  [](const Component& component) { return component.per_weight; }))
    throw_package_fault({*table_, "components", weight.path},
                        "has no component with bytes for every row");
}

void PackageCodec::check_component(const Weight& weight, std::size_t c,
                                   const Component& component) const {
  const PackageCall sizes{*table_, "row_bytes", weight.path};
  // Without elements there is no row of that length, and the codec may not have a size for it.
  const bool empty = weight.shape.elements() == 0;
  const std::uint64_t row = empty ? 0 : ask_row_bytes(sizes, c, weight.shape.columns());
  const auto rows = checked_mul(row, weight.shape.rows());
  const std::uint64_t wanted = component.per_weight ? 0 : component.bytes;
  if (rows != wanted)
    throw_package_fault(sizes, fmt::format("contradicts the shape of component {}", component.name),
                        fmt::format("{} bytes a row of {} elements, {} rows", row,
                                    weight.shape.columns(), weight.shape.rows()),
                        fmt::format("{} bytes in all", wanted));
  const PackageCall call{*table_, "components", weight.path};
  if (component.per_weight && !table_->functions.needs_analysis)
    throw_package_fault(call, "has a component for the whole weight, and no analysis gives it",
                        component.name);
  if (component.per_weight && component.bytes > SYNPS_CODEC_MAX_PER_WEIGHT)
    throw_package_fault(call, "has too large a component for the whole weight",
                        fmt::format("{} bytes for {}", component.bytes, component.name),
                        fmt::format("at most {}", SYNPS_CODEC_MAX_PER_WEIGHT));
  if (!component.per_weight && component.bytes == 0 && !empty)
    throw_package_fault(call, "has a component without a byte", component.name);
}

/// The checksums of a vector are those of parts of it: these must add up, too.
void PackageCodec::check_vector_units(const Weight& weight, std::size_t c,
                                      const Component& component) const {
  const std::uint64_t elements = weight.shape.elements();
  if (weight.shape.rank() > 1 || elements == 0 || component.per_weight) return;
  const std::uint64_t unit = vector_row(*this, elements);
  if (unit == elements) return;
  const PackageCall call{*table_, "row_bytes", weight.path};
  const std::uint64_t bytes = ask_row_bytes(call, c, unit);
  const auto whole = checked_mul(bytes, elements / unit);
  const auto all =
      whole ? checked_add(*whole, ask_row_bytes(call, c, elements % unit)) : std::nullopt;
  if (bytes == 0 || all != component.bytes)
    throw_package_fault(call, "gives parts of a row that do not add up",
                        fmt::format("{} bytes for {} elements of component {}", bytes, unit, c),
                        fmt::format("{} bytes in all", component.bytes));
}

std::vector<Component> PackageCodec::components(const Weight& weight) const {
  if (const Support support = supports(weight); !support.ok)
    throw_package_fault({*table_, "supports", weight.path}, "refuses a weight that it is to store",
                        support.reason);
  std::vector<Component> components = ask_components(weight);
  if (ask_components(weight) != components)
    throw_package_fault({*table_, "components", weight.path}, "answers differently each time");
  check_sizes(weight, components);
  return components;
}

std::uint64_t PackageCodec::row_bytes(std::size_t component, std::uint64_t columns) const {
  return ask_row_bytes({*table_, "row_bytes"}, component, columns);
}

std::uint64_t PackageCodec::ask_row_bytes(const PackageCall& call, std::size_t component,
                                          std::uint64_t columns) const {
  if (columns == 0) return 0;
  Guarded<std::uint64_t> bytes(0);
  run_package(call, [&](char* message, std::size_t size) {
    return table_->functions.row_bytes(table_->self, component, columns, &bytes.value, message,
                                       size);
  });
  bytes.check(call, "its answer");
  return bytes.value;
}

std::unique_ptr<Analysis> PackageCodec::begin_analysis(const Weight& weight) const {
  if (table_->functions.needs_analysis == 0) return nullptr;
  return std::make_unique<PackageAnalysis>(table_, weight);
}

template <typename Body>
void PackageCodec::in_parts(const Piece& piece, Body body) const {
  const std::uint64_t granule = row_granule();
  const std::uint64_t longest =
      granule == 0 ? piece.columns : std::max(granule, kPackagePart / granule * granule);
  if (piece.columns <= std::max(longest, kPackagePart)) {
    const std::uint64_t fit = std::max<std::uint64_t>(1, kPackagePart / piece.columns);
    for (std::uint64_t row = 0; row < piece.rows; row += fit)
      body(Piece{piece.weight, piece.first_element + row * piece.columns,
                 std::min(fit, piece.rows - row), piece.columns});
    return;
  }
  for (std::uint64_t row = 0; row < piece.rows; ++row)
    for (std::uint64_t at = 0; at < piece.columns; at += longest)
      body(Piece{piece.weight, piece.first_element + row * piece.columns + at, 1,
                 std::min(longest, piece.columns - at)});
}

template <typename Byte>
std::span<Byte> PackageCodec::part_bytes(std::size_t component, const Piece& piece,
                                         const Piece& part, std::span<Byte> bytes) const {
  const PackageCall call{*table_, "row_bytes", piece.weight->path};
  const auto bytes_of = [&](std::uint64_t columns) {
    return ask_row_bytes(call, component, columns);
  };
  const std::uint64_t row_length = piece.weight->shape.columns();
  const std::uint64_t column = part.first_element % row_length;
  if (part.columns != row_length &&
      checked_add(bytes_of(column), bytes_of(part.columns)) != bytes_of(column + part.columns))
    throw_package_fault(
        call, "gives parts of a row that do not add up",
        fmt::format("elements {} to {} of component {}", column, column + part.columns, component));
  const std::uint64_t from = part.first_element - piece.first_element;
  const auto before = checked_mul(from / piece.columns, bytes_of(piece.columns));
  const auto begin = before ? checked_add(*before, bytes_of(from % piece.columns)) : std::nullopt;
  const auto size = checked_mul(part.rows, bytes_of(part.columns));
  const bool fits = begin && size && range_fits(*begin, *size, bytes.size());
  const bool last = from + part.elements() == piece.elements();
  if (!fits || (last && *begin + *size != bytes.size()))
    throw_package_fault(call, "answers differently each time",
                        fmt::format("{} bytes for component {}", bytes.size(), component));
  return bytes.subspan(*begin, *size);
}

void PackageCodec::encode(const Piece& piece, std::span<const float> values,
                          const Analysis* analysis, std::span<const std::span<std::byte>> out,
                          ValueReport& report) const {
  if (piece.elements() == 0) return;
  std::vector<std::span<std::byte>> part_out(out.size());
  in_parts(piece, [&](const Piece& part) {
    for (std::size_t c = 0; c < out.size(); ++c) part_out[c] = part_bytes(c, piece, part, out[c]);
    encode_part(part, values.subspan(part.first_element - piece.first_element, part.elements()),
                analysis, part_out, report);
  });
}

void PackageCodec::encode_part(const Piece& part, std::span<const float> values,
                               const Analysis* analysis,
                               const std::vector<std::span<std::byte>>& out,
                               ValueReport& report) const {
  const PackageCall call{*table_, "encode", part.weight->path};
  const PackagePiece piece(part);
  EncodedBytes encoded(out);
  encoded.fill(kFirstFill);
  if (!is_watched(part)) {
    const auto findings = call_encode(call, piece, values, analysis, encoded);
    encoded.copy_to(out);
    add_package_findings(call, findings, part, values, report);
    return;
  }
  const GuardedCopy copy(std::as_bytes(values));
  const std::span seen(reinterpret_cast<const float*>(copy.data()), values.size());
  const auto findings = call_encode(call, piece, seen, analysis, encoded);
  copy.check(call, "its values");
  encoded.copy_to(out);
  encoded.fill(kSecondFill);
  const auto again = call_encode(call, piece, seen, analysis, encoded);
  copy.check(call, "its values");
  if (!same_package_findings(again, findings) || !encoded.equals(out))
    throw_package_fault(call, "leaves bytes unwritten, or gives other bytes each time");
  add_package_findings(call, findings, part, values, report);
}

synps_codec_findings PackageCodec::call_encode(const PackageCall& call, const PackagePiece& piece,
                                               std::span<const float> values,
                                               const Analysis* analysis,
                                               const EncodedBytes& encoded) const {
  const auto* own = dynamic_cast<const PackageAnalysis*>(analysis);
  synps_codec_findings none{};
  none.struct_size = sizeof none;
  Guarded<synps_codec_findings> findings(none);
  const std::vector<synps_codec_bytes>& out = encoded.for_package();
  run_package(call, [&](char* message, std::size_t size) {
    return table_->functions.encode(table_->self, piece.view(), values.data(), values.size(),
                                    own != nullptr ? own->state() : nullptr, out.data(), out.size(),
                                    &findings.value, message, size);
  });
  encoded.check(call);
  findings.check(call, "its findings");
  piece.check(call);
  return findings.value;
}

/// A component without bytes for a row must be one for the whole weight.
bool PackageCodec::is_per_weight(const Weight& weight, std::size_t c, std::uint64_t columns) const {
  const PackageCall call{*table_, "row_bytes", weight.path};
  if (ask_row_bytes(call, c, columns) != 0) return false;
  const std::vector<Component> components = ask_components(weight);
  if (c >= components.size() || !components[c].per_weight)
    throw_package_fault(call, "answers differently each time",
                        fmt::format("0 bytes for component {}", c));
  return true;
}

void PackageCodec::decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
                          std::span<float> out) const {
  if (piece.elements() == 0) return;
  std::vector<synps_codec_const_bytes> part_in(in.size());
  in_parts(piece, [&](const Piece& part) {
    for (std::size_t c = 0; c < in.size(); ++c) {
      const bool per_weight = is_per_weight(*piece.weight, c, piece.columns);
      const auto bytes = per_weight ? in[c] : part_bytes(c, piece, part, in[c]);
      part_in[c] = {bytes.data(), bytes.size()};
    }
    decode_part(part, part_in,
                out.subspan(part.first_element - piece.first_element, part.elements()));
  });
}

void PackageCodec::decode_part(const Piece& part, const std::vector<synps_codec_const_bytes>& in,
                               std::span<float> out) const {
  const PackageCall call{*table_, "decode", part.weight->path};
  const PackagePiece piece(part);
  GuardedBytes values(out.size_bytes());
  values.fill(kFirstFill);
  if (!is_watched(part)) {
    call_decode(call, piece, in, values);
    std::memcpy(out.data(), values.data(), out.size_bytes());
    return;
  }
  std::vector<GuardedCopy> copies;
  std::vector<synps_codec_const_bytes> seen;
  copies.reserve(in.size());
  for (const synps_codec_const_bytes& bytes : in) {
    copies.emplace_back(std::span(static_cast<const std::byte*>(bytes.data), bytes.size));
    seen.push_back({copies.back().data(), bytes.size});
  }
  const auto decode_watched = [&] {
    call_decode(call, piece, seen, values);
    for (std::size_t c = 0; c < copies.size(); ++c)
      copies[c].check(call, fmt::format("component {}", c));
  };
  decode_watched();
  std::memcpy(out.data(), values.data(), out.size_bytes());
  values.fill(kSecondFill);
  decode_watched();
  if (!same_decoded(out, {reinterpret_cast<const float*>(values.data()), out.size()}))
    throw_package_fault(call, "leaves values unwritten, or gives other values each time");
}

void PackageCodec::call_decode(const PackageCall& call, const PackagePiece& piece,
                               const std::vector<synps_codec_const_bytes>& in,
                               GuardedBytes& values) const {
  run_package(call, [&](char* message, std::size_t size) {
    return table_->functions.decode(table_->self, piece.view(), in.data(), in.size(),
                                    reinterpret_cast<float*>(values.data()),
                                    values.bytes().size() / sizeof(float), message, size);
  });
  values.check(call, "its values");
  piece.check(call);
}

}  // namespace

std::shared_ptr<const Codec> make_package_codec(PackageCodecTable table) {
  return std::make_shared<PackageCodec>(std::move(table));
}

}  // namespace synps
