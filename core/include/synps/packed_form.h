#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "synps/form.h"
#include "synps/kernel.h"
#include "synps/profile.h"

namespace synps {

/// What is packed for. The default knows no kernels, and asks for no residency.
struct PackTarget {
  Capabilities capabilities{};
  std::optional<Profile> profile{};
  std::string name{};  ///< for people: "cpu-avx2"; "" for a target that has none
};

/// What weights are packed for, by their device.
class PackTargets {
 public:
  PackTargets() = default;
  /// All devices alike.
  PackTargets(PackTarget all) : all_(std::move(all)) {}  // NOLINT(google-explicit-constructor)

  void set(const std::string& device, PackTarget target) {
    devices_.insert_or_assign(device, std::move(target));
  }
  const PackTarget& of(std::string_view device) const noexcept {
    const auto at = devices_.find(device);
    return at == devices_.end() ? all_ : at->second;
  }

 private:
  PackTarget all_;
  std::map<std::string, PackTarget, std::less<>> devices_;  // those that differ
};

/// What packing can make of a weight.
struct PackSource {
  std::string codec{};  ///< that it is stored in, `package:export`; "keep" where nothing decodes it
  bool converts = false;       ///< its bytes are encoded anew rather than copied
  bool packed = false;         ///< the codec stores blocks of rows, or rows, rather than values
  bool matrix = false;         ///< of rank 2
  bool rows8 = false;          ///< can_be_rows8()
  Order order = Order::rows1;  ///< of the source
  bool is_volatile = false;
  Compression compression = Compression::none;  ///< of its components
};

/// Why a weight is not in the order that kernels want, though a policy asks for that by name.
enum class OrderFault : std::uint8_t {
  none,
  no_kernel,   ///< no kernel of the target feeds on the codec
  not_matrix,  ///< kernels want another order than rows1, which only matrices have
  in_out,      ///< no kernel multiplies a weight of that orientation
};

struct PackedForm {
  WeightForm form{};
  OrderFault fault = OrderFault::none;
};

/// The form of a freshly packed weight: a pure function of the request, the source and the target.
///
/// order      1. dense: rows1; as_stored: the source's, if the weight can be stored so, and
///            checkpoints have rows1; in_out, which no kernel multiplies: rows1
///            2. auto, kernel_feed: the order that kernels of the target want, if the weight can be
///               stored so, else rows1. Matrices of fewer than eight rows or with one block a row
///               are the same bytes in both, and are called rows1
///            kernel_feed is a fault where no kernel feeds on the codec or multiplies the
///            orientation, or another order is wanted and the weight is no matrix
/// residency  1. compressed: heap, for it is of no use where it is mapped  2. the request
///            3. volatile: mapped  4. the target's profile  5. mapped: the file is there already,
///            and a mapping costs nothing until a page is used
PackedForm resolve_packed_form(const FormRequest& request, const PackSource& source,
                               const PackTarget& target = {});

}  // namespace synps
