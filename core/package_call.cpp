#include "package_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

namespace synps {
namespace {

using Message = std::array<char, 1024>;

[[noreturn]] void throw_failure(const PackageCall& call, std::string_view what,
                                const std::string& message) {
  throw_package_fault(call, fmt::format("{}{}{}", what, message.empty() ? "" : ": ", message));
}

/// The status of the call, or the fault that an exception is.
std::int32_t caught(const PackageCall& call, const PackageFunction& function, Message& message) {
  try {
    return function(message.data(), message.size());
  } catch (const std::exception& thrown) {
    throw_failure(call, "threw an exception", thrown.what());
  } catch (...) {
    throw_failure(call, "threw an exception", "");
  }
}

}  // namespace

void throw_package_fault(const PackageCall& call, std::string_view what, std::string found,
                         std::string want) {
  throw Error({.code = ErrorCode::package,
               .file = call.codec.info.file,
               .what = fmt::format("codec {}: {} {}", call.codec.info.id(), call.function, what),
               .field = std::string(call.weight),
               .found = std::move(found),
               .want = std::move(want),
               .hint = "the codec package is at fault, not the file or the policy"});
}

GuardedBytes::GuardedBytes(std::size_t size)
    : size_(size), memory_(new std::byte[kGuardBytes + size + kGuardBytes]) {
  std::memset(memory_.get(), std::to_integer<int>(kGuardByte), kGuardBytes);
  std::memset(data() + size_, std::to_integer<int>(kGuardByte), kGuardBytes);
}

void GuardedBytes::check(const PackageCall& call, std::string_view what) const {
  const auto intact = [](const std::byte* guard) {
    return std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == kGuardByte; });
  };
  if (!intact(memory_.get()))
    throw_package_fault(call, fmt::format("wrote before the start of {}", what));
  if (!intact(memory_.get() + kGuardBytes + size_))
    throw_package_fault(call, fmt::format("wrote past the end of {}", what));
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
      throw Error(
          {.code = ErrorCode::limit,
           .what = fmt::format("a size that {} needs does not fit 64 bits", call.codec.info.id()),
           .field = std::string(call.weight)});
    case SYNPS_CODEC_NO_MEMORY:
      throw std::bad_alloc();
    default:
      throw_failure(call, fmt::format("returned the unknown status {}", status), text);
  }
}

}  // namespace synps
