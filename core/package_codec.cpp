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
#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

/// Elements that a package gets to see at a time, where rows are shorter or can be cut: the same
/// as a packager's piece.
constexpr std::uint64_t kPartElements = 1u << 17;

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
  std::vector<Component> ask_components(const Weight& weight) const;
  std::uint64_t ask_row_bytes(const PackageCall& call, std::size_t component,
                              std::uint64_t columns) const;
  void check_sizes(const Weight& weight, const std::vector<Component>& components) const;
  /// Calls body(part) for the parts of a piece, in order.
  template <typename Body>
  void in_parts(const Piece& piece, Body body) const;
  /// Where a part's bytes are in those of its piece; throws Error(package) when they are not.
  template <typename Byte>
  std::span<Byte> part_bytes(std::size_t component, const Piece& piece, const Piece& part,
                             std::span<Byte> bytes) const;
  void encode_part(const Piece& part, std::span<const float> values, const Analysis* analysis,
                   const std::vector<std::span<std::byte>>& out, ValueReport& report) const;
  void decode_part(const Piece& part, const std::vector<synps_codec_const_bytes>& in,
                   std::span<float> out) const;

  std::shared_ptr<const PackageCodecTable> table_;
};

/// Faults show at the ends of a weight: there, a call is made twice.
bool at_an_end(const Piece& piece) noexcept {
  return piece.first_element == 0 ||
         piece.first_element + piece.elements() == piece.weight->shape.elements();
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
  const PackageCall call{*table_, "supports", weight.path};
  const synps_codec_weight view = weight_for_package(weight);
  Guarded<std::uint32_t> supported(~std::uint32_t{0});  // neither answer
  std::string reason = call_package(call, [&](char* message, std::size_t size) {
    return table_->functions.supports(table_->self, &view, &supported.value, message, size);
  });
  supported.check(call, "its answer");
  if (supported.value == 1) return Support::yes();
  if (supported.value != 0)
    throw_package_fault(call, "gave no answer", fmt::format("{}", supported.value), "0 or 1");
  if (reason.empty()) throw_package_fault(call, "refuses a weight without a reason");
  return Support::no(std::move(reason));
}

std::vector<Component> PackageCodec::ask_components(const Weight& weight) const {
  const PackageCall call{*table_, "components", weight.path};
  const synps_codec_weight view = weight_for_package(weight);
  GuardedBytes memory(SYNPS_CODEC_MAX_COMPONENTS * sizeof(synps_codec_component));
  memory.fill(std::byte{0});
  Guarded<std::size_t> count(0);
  run_package(call, [&](char* message, std::size_t size) {
    return table_->functions.components(table_->self, &view,
                                        reinterpret_cast<synps_codec_component*>(memory.data()),
                                        SYNPS_CODEC_MAX_COMPONENTS, &count.value, message, size);
  });
  count.check(call, "its count");
  memory.check(call, "its records");
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
  const PackageCall call{*table_, "row_bytes", weight.path};
  bool has_rows = false;
  for (std::size_t c = 0; c < components.size(); ++c) {
    const Component& component = components[c];
    const std::uint64_t row = ask_row_bytes(call, c, weight.shape.columns());
    const auto rows = checked_mul(row, weight.shape.rows());
    const std::uint64_t wanted = component.per_weight ? 0 : component.bytes;
    if (rows != wanted)
      throw_package_fault(call,
                          fmt::format("contradicts the shape of component {}", component.name),
                          fmt::format("{} bytes a row of {} elements, {} rows", row,
                                      weight.shape.columns(), weight.shape.rows()),
                          fmt::format("{} bytes in all", wanted));
    if (component.per_weight && !table_->functions.needs_analysis)
      throw_package_fault({*table_, "components", weight.path},
                          "has a component for the whole weight, and no analysis gives it",
                          component.name);
    if (!component.per_weight && component.bytes == 0 && weight.shape.elements() != 0)
      throw_package_fault({*table_, "components", weight.path}, "has a component without a byte",
                          component.name);
    has_rows = has_rows || !component.per_weight;
  }
  if (!has_rows)
    throw_package_fault({*table_, "components", weight.path},
                        "has no component with bytes for every row");
}

std::vector<Component> PackageCodec::components(const Weight& weight) const {
  if (const Support support = supports(weight); !support.ok)
    throw Error({.code = ErrorCode::usage,
                 .what = fmt::format("{} does not support the weight", info().id()),
                 .field = weight.path,
                 .found = support.reason});
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
      granule == 0 ? piece.columns : std::max(granule, kPartElements / granule * granule);
  if (piece.columns <= std::max(longest, kPartElements)) {
    const std::uint64_t fit = std::max<std::uint64_t>(1, kPartElements / piece.columns);
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
  const synps_codec_weight weight = weight_for_package(*part.weight);
  const synps_codec_piece piece = piece_for_package(part, weight);
  const auto* own = dynamic_cast<const PackageAnalysis*>(analysis);
  EncodedBytes encoded(out);
  const auto encode_once = [&](std::byte fill) {
    synps_codec_findings none{};
    none.struct_size = sizeof none;
    Guarded<synps_codec_findings> findings(none);
    encoded.fill(fill);
    run_package(call, [&](char* message, std::size_t size) {
      return table_->functions.encode(table_->self, &piece, values.data(), values.size(),
                                      own != nullptr ? own->state() : nullptr,
                                      encoded.for_package().data(), encoded.for_package().size(),
                                      &findings.value, message, size);
    });
    encoded.check(call);
    findings.check(call, "its findings");
    return findings.value;
  };
  const synps_codec_findings findings = encode_once(kFirstFill);
  encoded.copy_to(out);
  if (at_an_end(part) &&
      (!same_package_findings(encode_once(kSecondFill), findings) || !encoded.equals(out)))
    throw_package_fault(call, "leaves bytes unwritten, or gives other bytes each time");
  add_package_findings(call, findings, part, values, report);
}

void PackageCodec::decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
                          std::span<float> out) const {
  if (piece.elements() == 0) return;
  std::vector<synps_codec_const_bytes> part_in(in.size());
  in_parts(piece, [&](const Piece& part) {
    for (std::size_t c = 0; c < in.size(); ++c) {
      const bool per_weight = row_bytes(c, piece.columns) == 0;
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
  const synps_codec_weight weight = weight_for_package(*part.weight);
  const synps_codec_piece piece = piece_for_package(part, weight);
  GuardedBytes memory(out.size_bytes());
  auto* values = reinterpret_cast<float*>(memory.data());
  const auto decode_once = [&](std::byte fill) {
    memory.fill(fill);
    run_package(call, [&](char* message, std::size_t size) {
      return table_->functions.decode(table_->self, &piece, in.data(), in.size(), values,
                                      out.size(), message, size);
    });
    memory.check(call, "its values");
  };
  decode_once(kFirstFill);
  std::memcpy(out.data(), values, out.size_bytes());
  if (!at_an_end(part)) return;
  decode_once(kSecondFill);
  if (!same_decoded(out, {values, out.size()}))
    throw_package_fault(call, "leaves values unwritten, or gives other values each time");
}

}  // namespace

std::shared_ptr<const Codec> make_package_codec(PackageCodecTable table) {
  return std::make_shared<PackageCodec>(std::move(table));
}

}  // namespace synps
