#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "synps/form.h"
#include "synps/os.h"

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

/// How events name a stored form: "q4_0:q4_0 rows8", "f16:f16 rows1 zstd".
std::string stored_form_text(std::string_view codec, Order order, Compression compression);

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
/// open. The file appears under its name when close() returns; without that, nothing is left. What
/// cannot be written is told by close(): it does not stop what is traced. Events that overlap are
/// on tracks of their own.
class ChromeTraceSink final : public TraceSink {
 public:
  /// `inputs` are files that must not be replaced. Throws Error(output) when the file exists and
  /// `force` is false, or is an input; Error(io).
  explicit ChromeTraceSink(const std::string& path, bool force = false,
                           std::vector<FileIdentity> inputs = {}, Os& os = Os::posix());
  ~ChromeTraceSink() override;
  void conversion(const ConversionEvent& event) override;
  /// Throws Error(io), Error(output). Nothing is traced after it.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace synps
