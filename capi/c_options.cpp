#include "c_options.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "c_error.h"
#include "c_struct.h"
#include "synps/builtin_codecs.h"
#include "synps/codec_package.h"
#include "synps/error.h"
#include "synps/profile.h"

namespace synps::c {
namespace {

std::uint64_t nanoseconds(std::chrono::steady_clock::time_point time) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

class CallbackSink final : public TraceSink {
 public:
  CallbackSink(synps_trace call, void* context) : call_(call), context_(context) {}

  void conversion(const ConversionEvent& event) override {
    const std::string weight(event.weight);
    const std::string kind(event.kind);
    synps_conversion told{};
    told.struct_size = sizeof told;
    told.weight = weight.c_str();
    told.kind = kind.c_str();
    told.from = event.from.c_str();
    told.to = event.to.c_str();
    told.bytes_before = event.bytes_before;
    told.bytes_after = event.bytes_after;
    told.begin_ns = nanoseconds(event.begin);
    told.end_ns = nanoseconds(event.end);
    told.busy_ns = static_cast<std::uint64_t>(event.busy.count());
    const std::lock_guard lock(mutex_);
    call_(context_, &told);
  }

 private:
  synps_trace call_;
  void* context_;
  std::mutex mutex_;
};

[[noreturn]] void refuse_number(const char* field, std::uint32_t found, const char* want) {
  refuse("an option has no such value", field, std::to_string(found), want);
}

void check_reserved(std::uint32_t reserved, const char* field) {
  if (reserved != 0) refuse_number(field, reserved, "0, as it is reserved");
}

Verification verification_of(std::uint32_t value) {
  switch (value) {
    case SYNPS_VERIFY_FIRST_USE:
      return Verification::first_use;
    case SYNPS_VERIFY_NEVER:
      return Verification::never;
    case SYNPS_VERIFY_ALL:
      return Verification::all;
    default:
      refuse_number("verification", value, "SYNPS_VERIFY_FIRST_USE, _NEVER or _ALL");
  }
}

ResidencyRequest residency_of(std::uint32_t value, const char* field) {
  switch (value) {
    case SYNPS_RESIDENCY_AUTO:
      return ResidencyRequest::automatic;
    case SYNPS_RESIDENCY_HEAP:
      return ResidencyRequest::heap;
    case SYNPS_RESIDENCY_MAPPED:
      return ResidencyRequest::mapped;
    default:
      refuse_number(field, value, "SYNPS_RESIDENCY_AUTO, _HEAP or _MAPPED");
  }
}

OrderRequest order_of(std::uint32_t value) {
  switch (value) {
    case SYNPS_REQUEST_ORDER_AUTO:
      return OrderRequest::automatic;
    case SYNPS_REQUEST_ORDER_AS_STORED:
      return OrderRequest::as_stored;
    case SYNPS_REQUEST_ORDER_KERNEL_FEED:
      return OrderRequest::kernel_feed;
    default:
      refuse_number("overrides.order", value,
                    "SYNPS_REQUEST_ORDER_AUTO, _AS_STORED or _KERNEL_FEED");
  }
}

Profile named_profile(const char* name) {
  if (std::string_view(name) == "auto") return profile_for_memory(machine_memory().total);
  if (auto profile = builtin_profile(name)) return *std::move(profile);
  std::vector<std::string> names{"auto"};
  for (const Profile& profile : builtin_profiles()) names.push_back(profile.name);
  std::string want;
  for (const std::string& known : names) want += (want.empty() ? "" : ", ") + known;
  const auto meant = nearest(name, names);
  refuse("no such profile", "profile_name", quote(name), want,
         meant ? "did you mean " + quote(*meant) + "?" : "");
}

Profile own_profile(const synps_profile* given_profile) {
  const synps_profile from = read_struct(given_profile, "profile");
  check_reserved(from.reserved, "profile.reserved");
  Profile profile;
  profile.name = from.name != nullptr ? from.name : "custom";
  if (from.has_memory_bytes != 0) profile.memory_bytes = from.memory_bytes;
  profile.reserve_bytes = from.reserve_bytes;
  if (residency_of(from.residency, "profile.residency") == ResidencyRequest::mapped)
    profile.residency = Residency::mapped;
  profile.strict = from.strict != 0;
  return profile;
}

void read_overrides(const synps_options& from, Opening& opening) {
  check_array(from.overrides, from.override_count, "overrides");
  for (const synps_override& each : std::span(from.overrides, from.override_count)) {
    check_reserved(each.reserved, "overrides.reserved");
    LoadOverride made;
    made.request.residency = residency_of(each.residency, "overrides.residency");
    made.request.order = order_of(each.order);
    made.request.dequantize = each.dequantize != 0;
    if (each.path != nullptr) {
      const std::string path = each.path;
      opening.override_paths.push_back(path);
      made.matches = [path](std::string_view weight) { return covers(path, weight); };
    }
    opening.options.overrides.push_back(std::move(made));
  }
}

void read_packages(const synps_options& from, Opening& opening) {
  check_array(from.packages, from.package_count, "packages");
  if (from.package_count == 0) return;
  opening.codecs = std::make_unique<CodecRegistry>(builtin_registry());
  for (const synps_package& each : std::span(from.packages, from.package_count))
    add_codec_package(*opening.codecs, &given(each.name, "packages.name"),
                      &given(each.path, "packages.path"));
  opening.options.codecs = opening.codecs.get();
}

}  // namespace

bool covers(const std::string& path, std::string_view weight) noexcept {
  if (!weight.starts_with(path)) return false;
  return weight.size() == path.size() || weight[path.size()] == '.';
}

Opening read_options(const synps_options* options) {
  Opening opening;
  if (options == nullptr) return opening;
  const synps_options from = read_struct(options, "options");
  check_reserved(from.reserved, "reserved");
  opening.options.verification = verification_of(from.verification);
  opening.options.allow_over_budget = from.allow_over_budget != 0;
  if (from.profile_name != nullptr && from.profile != nullptr)
    refuse("a profile is given twice", "profile", "a name and values", "one of them");
  if (from.profile_name != nullptr) opening.options.profile = named_profile(from.profile_name);
  if (from.profile != nullptr) opening.options.profile = own_profile(from.profile);
  if (from.has_budget != 0) opening.options.budget = from.budget_bytes;
  read_overrides(from, opening);
  read_packages(from, opening);
  if (from.trace != nullptr) {
    opening.trace = std::make_unique<CallbackSink>(from.trace, from.trace_context);
    opening.options.trace = opening.trace.get();
  }
  return opening;
}

}  // namespace synps::c
