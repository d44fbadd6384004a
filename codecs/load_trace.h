#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "synps/artifact_index.h"
#include "synps/trace.h"

namespace synps {

/// Adds up the time that the parts of one conversion take. Looks at no clock unless it is on.
class LoadStopwatch {
 public:
  explicit LoadStopwatch(bool on) noexcept : on_(on) {}

  template <typename Work>
  void time(Work&& work) {
    if (!on_) {
      work();
      return;
    }
    const auto from = std::chrono::steady_clock::now();
    work();
    end = std::chrono::steady_clock::now();
    if (busy == std::chrono::nanoseconds{}) begin = from;
    busy += end - from;
  }

  std::chrono::steady_clock::time_point begin{};
  std::chrono::steady_clock::time_point end{};
  std::chrono::nanoseconds busy{};

 private:
  bool on_;
};

/// How events name a form of the weight's stored bytes.
std::string form_text(const StoredWeight& weight, Order order, Compression compression);

/// Bytes of a weight's components: in the file, frames or padding included, and as they are.
std::uint64_t stored_bytes(const StoredWeight& weight) noexcept;
std::uint64_t true_bytes(const StoredWeight& weight) noexcept;

/// Bytes in some form.
struct FormOfBytes {
  std::string text{};
  std::uint64_t bytes = 0;
};

/// Tells `sink` of a conversion.
void tell_conversion(TraceSink& sink, const StoredWeight& weight, std::string_view kind,
                     FormOfBytes from, FormOfBytes to, const LoadStopwatch& time);

}  // namespace synps
