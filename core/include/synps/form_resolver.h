#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec.h"
#include "synps/form.h"
#include "synps/kernel.h"
#include "synps/profile.h"

namespace synps {

/// What is stored of a weight, as far as its form in memory depends on it.
struct StoredForm {
  std::string codec{};  ///< `package:export`; "keep" where nothing decodes it
  Order order = Order::rows1;
  Orientation orientation = Orientation::out_in;
  bool compressed = false;
  bool is_volatile = false;
  bool matrix = false;  ///< of rank 2, out_in, with elements: what kernels multiply
};
StoredForm stored_form(const StoredWeight& weight);

/// What is asked for by name: by the policy, or by the caller that loads, whose word counts more.
struct LoadRequest {
  OrderRequest order = OrderRequest::automatic;
  ResidencyRequest residency = ResidencyRequest::automatic;
  bool dequantize = false;  ///< to f32, on the heap

  bool operator==(const LoadRequest&) const = default;
};
/// Where `caller` leaves something open, the policy's request holds.
LoadRequest merged(const FormRequest& policy, const LoadRequest& caller);

/// What the loader can make of a stored weight.
struct CanProduce {
  bool rows1 = true;
  bool rows8 = false;
  bool f32 = false;    ///< something decodes it, and it is not f32 already
  bool mapped = true;  ///< false: compressed
};
/// `codec` is null where nothing decodes the weight.
CanProduce can_produce(const Codec* codec, const StoredWeight& weight);

/// Why a weight has its form. Each has a sentence: to_string().
enum class FormReason : std::uint8_t {
  not_multiplied,     ///< no matrix, or nothing decodes it: as stored
  asked_as_stored,    ///< as stored, whether or not a kernel feeds on it
  asked_dequantized,  ///< f32
  asked_kernel_feed,  ///< the order that kernels want
  fed,                ///< as stored: a kernel feeds on it, and wants nothing else or is mapped
  wanted,             ///< relaid: it is on the heap anyway, and a kernel is faster so
  only_order,         ///< relaid: no kernel feeds on the stored order
  no_kernel,          ///< f32: no kernel feeds on the codec
  nothing_else,       ///< as stored, with no kernel: it cannot be made into what one feeds on
  undone,             ///< as stored, and mapped unless it is to be on the heap: over budget else
  as_packed,          ///< as the artifact has it: no profile is given
};
std::string_view to_string(FormReason reason) noexcept;

/// What a kernel feeds on, for one weight. The conversions from the stored form follow from `form`.
struct FormDecision {
  WeightForm form{};
  FormReason reason = FormReason::fed;
  /// Where it would be if nothing were converted.
  Residency own_residency = Residency::mapped;
  bool asked_residency = false;  ///< by policy or caller: it is not mapped to save memory
  bool inflates = false;
  bool relays = false;       ///< another order than the stored one
  bool dequantizes = false;  ///< to f32

  bool converts() const noexcept { return inflates || relays || dequantizes; }
  /// Neither asked for nor needed: a kernel feeds on the stored order, too.
  bool relayout_is_optional() const noexcept { return relays && reason == FormReason::wanted; }
};

/// The form that a stored weight is loaded in. A pure function; what decides, in this sequence:
///
/// residency  1. compressed: heap  2. the request  3. volatile: mapped  4. the profile
/// form       1. no matrix, or nothing decodes it: as stored
///            2. the request: dequantize, where it can be; else as_stored
///            3. a kernel feeds on the stored order: as stored; but relaid, when a kernel wants
///               another order that can be produced, and the weight is on the heap or kernel_feed
///               is asked for
///            4. a kernel feeds on another order that can be produced: relaid
///            5. it can be decoded: f32
///            6. as stored
/// Whatever is converted is on the heap.
FormDecision resolve_form(const StoredForm& stored, const LoadRequest& request,
                          const Profile& profile, const Capabilities& capabilities,
                          const CanProduce& can);

/// What is asked where no profile is given: every weight as it is stored, on the heap or mapped as
/// the artifact says, with no conversion but the inflating of what is compressed.
FormDecision as_packed(const StoredWeight& weight);

}  // namespace synps
