#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace synps {

/// What happens to a weight's stored encoding on its way into this form.
struct Encoding {
  enum class Kind : std::uint8_t { keep_as_stored, dequantize_to, requantize_to };
  Kind kind = Kind::keep_as_stored;
  std::string target{};  ///< dequantize_to: dtype in lower case; requantize_to: `package:export`

  bool operator==(const Encoding&) const = default;
};

/// The sequence in which a component's rows and blocks are stored. Names are part of the format.
enum class Order : std::uint8_t {
  rows1,  ///< plain row-major blocks
  rows8,  ///< the blocks of eight rows side by side: row_order.h
};

/// What the two dimensions of a matrix mean. A label on the shape, never guessed.
enum class Orientation : std::uint8_t { out_in, in_out };

enum class Residency : std::uint8_t { heap, mapped };

/// How the chunks of a component are stored. Names are part of the format.
enum class Compression : std::uint8_t {
  none,
  zstd,  ///< one frame a chunk
};

/// How a policy wants components stored.
struct CompressRequest {
  Compression method = Compression::none;
  int level = 0;  ///< of zstd, from kMinZstdLevel to kMaxZstdLevel; 0 without compression

  bool operator==(const CompressRequest&) const = default;
};

inline constexpr int kMinZstdLevel = 1;
inline constexpr int kMaxZstdLevel = 19;  ///< higher ones only widen a window that frames lack
inline constexpr int kDefaultZstdLevel = 3;

/// What a policy asks for; `automatic` leaves the choice to the resolver.
enum class OrderRequest : std::uint8_t {
  automatic,
  as_stored,
  kernel_feed,  ///< the order that kernels of the target want
};
enum class ResidencyRequest : std::uint8_t { automatic, heap, mapped };

/// The `form` table of a policy, merged.
struct FormRequest {
  OrderRequest order = OrderRequest::automatic;
  ResidencyRequest residency = ResidencyRequest::automatic;
  Orientation orientation = Orientation::out_in;
  CompressRequest compress{};

  bool operator==(const FormRequest&) const = default;
};

/// The resolved in-memory shape of a weight.
struct WeightForm {
  Encoding encoding;
  Order order = Order::rows1;
  Orientation orientation = Orientation::out_in;
  Residency residency = Residency::mapped;

  bool operator==(const WeightForm&) const = default;
};

std::string to_string(const Encoding& encoding);  ///< "keep_as_stored", "requantize_to(q8_0:q8_0)"
std::string_view to_string(Order order) noexcept;
std::string_view to_string(Orientation orientation) noexcept;
std::string_view to_string(Residency residency) noexcept;
std::string_view to_string(OrderRequest request) noexcept;      ///< "auto", "as_stored", …
std::string_view to_string(ResidencyRequest request) noexcept;  ///< "auto", "heap", "mapped"
std::string_view to_string(Compression compression) noexcept;
std::string to_string(const CompressRequest& request);  ///< "none", "zstd:3"
std::optional<Encoding> encoding_from(std::string_view text);
std::optional<Order> order_from(std::string_view name) noexcept;
std::optional<Orientation> orientation_from(std::string_view name) noexcept;
std::optional<Residency> residency_from(std::string_view name) noexcept;
std::optional<OrderRequest> order_request_from(std::string_view name) noexcept;
std::optional<ResidencyRequest> residency_request_from(std::string_view name) noexcept;
std::optional<Compression> compression_from(std::string_view name) noexcept;
/// "none", "zstd" (of the default level) or "zstd:LEVEL" with a level that is allowed.
std::optional<CompressRequest> compress_request_from(std::string_view text) noexcept;

}  // namespace synps
