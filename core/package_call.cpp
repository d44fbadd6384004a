#include "package_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "package_scope.h"
#include "synps/codec_package.h"

namespace synps {
namespace {

using Message = std::array<char, 1024>;

[[noreturn]] void throw_failure(const PackageCall& call, std::string_view what,
                                const std::string& message) {
  throw_package_fault(call, fmt::format("{}{}{}", what, message.empty() ? "" : ": ", message));
}

bool gives_sizes(const PackageCall& call) {
  const std::string_view function = call.function;
  return function == "components" || function == "row_bytes";
}

/// The status of the call, or the fault that an exception is.
std::int32_t caught(const PackageCall& call, const PackageFunction& function, Message& message) {
  // Outlives the exception, whose functions are the package's.
  const PackageScope scope(call.codec.info.file, call.function);
  try {
    return function(message.data(), message.size());
  } catch (const std::exception& thrown) {
    throw_failure(call, "threw an exception", exception_text(thrown));
  } catch (...) {
    throw_failure(call, "threw an exception", "");
  }
}

}  // namespace

void throw_package_fault(const PackageCall& call, std::string_view what, std::string found,
                         std::string want) {
  throw_codec_fault(call.codec.info, call.weight, fmt::format("{} {}", call.function, what),
                    std::move(found), std::move(want));
}

GuardedBytes::GuardedBytes(std::size_t size, std::size_t guard)
    : size_(size), guard_(guard), memory_(new std::byte[guard + size + guard]) {
  std::memset(memory_.get(), std::to_integer<int>(kGuardByte), guard_);
  std::memset(data() + size_, std::to_integer<int>(kGuardByte), guard_);
}

void GuardedBytes::check(const PackageCall& call, std::string_view what) const {
  const auto intact = [this](const std::byte* guard) {
    return std::all_of(guard, guard + guard_, [](std::byte b) { return b == kGuardByte; });
  };
  if (!intact(memory_.get()))
    throw_package_fault(call, fmt::format("wrote before the start of {}", what));
  if (!intact(data() + size_))
    throw_package_fault(call, fmt::format("wrote past the end of {}", what));
}

GuardedCopy::GuardedCopy(std::span<const std::byte> original, std::size_t guard)
    : original_(original), copy_(original.size(), guard) {
  if (!original.empty()) std::memcpy(copy_.data(), original.data(), original.size());
}

void GuardedCopy::check(const PackageCall& call, std::string_view what) const {
  copy_.check(call, what);
  if (!original_.empty() && std::memcmp(copy_.data(), original_.data(), original_.size()) != 0)
    throw_package_fault(call, fmt::format("wrote to {}, which it only reads", what));
}

std::string call_package(const PackageCall& call, const PackageFunction& function) {
  Guarded<Message> message;
  const std::int32_t status = caught(call, function, message.value);
  message.check(call, "the message buffer");
  const auto end = std::find(message.value.begin(), message.value.end(), '\0');
  const std::string text = escape_for_display({message.value.begin(), end});
  switch (status) {
    case SYNPS_CODEC_OK:
      return text;
    case SYNPS_CODEC_FAILED:
      throw_failure(call, "failed", text);
    case SYNPS_CODEC_TOO_LARGE:
      if (!gives_sizes(call)) throw_failure(call, "says that a size is too large", text);
      throw Error(
          {.code = ErrorCode::limit,
           .file = call.codec.info.file,
           .what = fmt::format("a size that {} needs does not fit 64 bits", call.codec.info.id()),
           .field = std::string(call.weight)});
    case SYNPS_CODEC_NO_MEMORY:
      throw std::bad_alloc();
    default:
      throw_failure(call, fmt::format("returned the unknown status {}", status), text);
  }
}

}  // namespace synps
