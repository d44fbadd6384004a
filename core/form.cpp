#include "synps/form.h"

#include <array>
#include <charconv>
#include <system_error>

#include "name_table.h"

namespace synps {
namespace {

constexpr NameTable<Order, 2> kOrders{{{{Order::rows1, "rows1"}, {Order::rows8, "rows8"}}}};
constexpr NameTable<Orientation, 2> kOrientations{
    {{{Orientation::out_in, "out_in"}, {Orientation::in_out, "in_out"}}}};
constexpr NameTable<Residency, 2> kResidencies{
    {{{Residency::heap, "heap"}, {Residency::mapped, "mapped"}}}};
constexpr NameTable<OrderRequest, 3> kOrderRequests{{{{OrderRequest::automatic, "auto"},
                                                      {OrderRequest::as_stored, "as_stored"},
                                                      {OrderRequest::kernel_feed, "kernel_feed"}}}};
constexpr NameTable<ResidencyRequest, 3> kResidencyRequests{
    {{{ResidencyRequest::automatic, "auto"},
      {ResidencyRequest::heap, "heap"},
      {ResidencyRequest::mapped, "mapped"}}}};
constexpr NameTable<Compression, 2> kCompressions{
    {{{Compression::none, "none"}, {Compression::zstd, "zstd"}}}};
constexpr NameTable<Encoding::Kind, 3> kEncodings{
    {{{Encoding::Kind::keep_as_stored, "keep_as_stored"},
      {Encoding::Kind::dequantize_to, "dequantize_to"},
      {Encoding::Kind::requantize_to, "requantize_to"}}}};

}  // namespace

std::string to_string(const Encoding& encoding) {
  std::string text(kEncodings.name(encoding.kind));
  return encoding.kind == Encoding::Kind::keep_as_stored ? text
                                                         : text + "(" + encoding.target + ")";
}

std::optional<Encoding> encoding_from(std::string_view text) {
  const std::size_t open = text.find('(');
  const auto kind = kEncodings.value(text.substr(0, open));
  if (!kind) return std::nullopt;
  const bool has_target = open != std::string_view::npos;
  if (has_target != (*kind != Encoding::Kind::keep_as_stored)) return std::nullopt;
  if (!has_target) return Encoding{};
  const std::string_view rest = text.substr(open + 1);
  if (rest.size() < 2 || rest.back() != ')') return std::nullopt;
  return Encoding{*kind, std::string(rest.substr(0, rest.size() - 1))};
}

std::string_view to_string(Order order) noexcept {
  return kOrders.name(order);
}
std::string_view to_string(Orientation value) noexcept {
  return kOrientations.name(value);
}
std::string_view to_string(Residency value) noexcept {
  return kResidencies.name(value);
}
std::string_view to_string(OrderRequest value) noexcept {
  return kOrderRequests.name(value);
}
std::string_view to_string(ResidencyRequest value) noexcept {
  return kResidencyRequests.name(value);
}
std::string_view to_string(Compression compression) noexcept {
  return kCompressions.name(compression);
}
std::string to_string(const CompressRequest& request) {
  std::string text(to_string(request.method));
  return request.method == Compression::none ? text : text + ":" + std::to_string(request.level);
}
std::optional<Order> order_from(std::string_view name) noexcept {
  return kOrders.value(name);
}
std::optional<Orientation> orientation_from(std::string_view name) noexcept {
  return kOrientations.value(name);
}
std::optional<Residency> residency_from(std::string_view name) noexcept {
  return kResidencies.value(name);
}
std::optional<OrderRequest> order_request_from(std::string_view name) noexcept {
  return kOrderRequests.value(name);
}
std::optional<ResidencyRequest> residency_request_from(std::string_view name) noexcept {
  return kResidencyRequests.value(name);
}

std::optional<Compression> compression_from(std::string_view name) noexcept {
  return kCompressions.value(name);
}

std::optional<CompressRequest> compress_request_from(std::string_view text) noexcept {
  if (text == "none") return CompressRequest{};
  if (text == "zstd") return CompressRequest{Compression::zstd, kDefaultZstdLevel};
  constexpr std::string_view kPrefix = "zstd:";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = text.substr(kPrefix.size());
  int level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  // One way to write a level: no sign, no leading zero.
  const bool plain = error == std::errc{} && end == digits.data() + digits.size() &&
                     digits.front() >= '1' && digits.front() <= '9';
  if (!plain || level < kMinZstdLevel || level > kMaxZstdLevel) return std::nullopt;
  return CompressRequest{Compression::zstd, level};
}

}  // namespace synps
