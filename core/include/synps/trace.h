#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace synps {

/// A conversion that has happened: bytes of a weight that are not what they were.
struct ConversionEvent {
  std::string_view weight{};  ///< path
  std::string_view
      kind{};          ///< "encode", "relayout", "dequantize", "inflate", "compress", "fold_scale"
  std::string from{};  ///< form before: "bf16", "q4_0:q4_0 rows1 zstd", …
  std::string to{};
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
  std::chrono::steady_clock::time_point begin{};
  std::chrono::steady_clock::time_point end{};
  std::chrono::nanoseconds busy{};  ///< of all threads together
};

/// Hears of conversions, from any thread. A caller that has none to tell (a null pointer) spends
/// nothing on it.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void conversion(const ConversionEvent& event) = 0;
};

/// Keeps them, for tests and for programs that show them.
class RecordingTraceSink final : public TraceSink {
 public:
  struct Recorded {
    std::string weight{};
    std::string kind{};
    std::string from{};
    std::string to{};
    std::uint64_t bytes_before = 0;
    std::uint64_t bytes_after = 0;
    std::chrono::nanoseconds duration{};
    std::chrono::nanoseconds busy{};
  };
  void conversion(const ConversionEvent& event) override;
  std::vector<Recorded> events() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Recorded> events_;
};

/// Writes a file in the Trace Event Format (JSON) of Chrome, which its tracing page and Perfetto
/// open. The file appears under its name when close() returns.
class ChromeTraceSink final : public TraceSink {
 public:
  /// Throws Error(exists) when the file exists and `force` is false, Error(io).
  explicit ChromeTraceSink(const std::string& path, bool force = false);
  ~ChromeTraceSink() override;
  void conversion(const ConversionEvent& event) override;
  /// Throws Error(io).
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace synps
