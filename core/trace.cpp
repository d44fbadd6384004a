#include "synps/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "synps/error.h"
#include "synps/file.h"
#include "synps/json_writer.h"

namespace synps {
namespace {

/// Text that waits to be written.
constexpr std::size_t kBufferBytes = 64 * 1024;
/// Tracks of one file. Events that overlap with more than so many others share the last.
constexpr std::size_t kMostTracks = 1024;

/// Microseconds, which the format counts in, to the nanosecond.
std::string microseconds(std::chrono::nanoseconds time) {
  const auto count = time.count();
  const auto whole = count < 0 ? -static_cast<std::uint64_t>(count) : std::uint64_t(count);
  return fmt::format("{}{}.{:03}", count < 0 ? "-" : "", whole / 1000, whole % 1000);
}

/// JSON holds UTF-8 alone, and a path may be any bytes.
std::string json_text(std::string_view text) {
  std::string out;
  if (is_utf8(text))
    append_json_string(out, text);
  else
    append_json_string(out, escape_for_display(text));
  return out;
}

/// An event that names the process, or one of its tracks.
std::string name_event(std::string_view what, std::size_t track, std::string_view name) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":1,"tid":{},"args":{{"name":"{}"}}}})", what,
                     track, name);
}

}  // namespace

std::string stored_form_text(std::string_view codec, Order order, Compression compression) {
  std::string text = fmt::format("{} {}", codec, to_string(order));
  if (compression != Compression::none) text += fmt::format(" {}", to_string(compression));
  return text;
}

void RecordingTraceSink::conversion(const ConversionEvent& event) {
  Recorded recorded{
      std::string(event.weight), std::string(event.kind), event.from, event.to, event.bytes_before,
      event.bytes_after,         event.end - event.begin, event.busy};
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(recorded));
}

auto RecordingTraceSink::events() const -> std::vector<Recorded> {
  const std::lock_guard lock(mutex_);
  return events_;
}

// The format: "Trace Event Format", Google, 2016: a JSON object with `traceEvents`, of which those
// with "ph":"X" are complete events. A viewer wants the events of a thread to be nested or apart,
// so that a track here is what it calls a thread.
struct ChromeTraceSink::Impl {
  Impl(Os& os, const std::string& path, AtomicFile::Options options)
      : file(os, path, std::move(options)), origin(std::chrono::steady_clock::now()) {
    buffer.reserve(kBufferBytes);
    buffer = R"({"displayTimeUnit":"ms","traceEvents":[)";
    buffer += '\n';
    buffer += name_event("process_name", 0, "synps");
  }

  std::size_t track_of(const ConversionEvent& event);
  void add(std::string_view text);
  void flush();
  void fail() noexcept {
    if (!failure) failure = std::current_exception();
  }

  AtomicFile file;
  std::chrono::steady_clock::time_point origin;
  std::mutex mutex;
  std::string buffer;
  std::uint64_t written = 0;                                  // bytes of the file
  std::vector<std::chrono::steady_clock::time_point> tracks;  // when the last event of each ends
  std::exception_ptr failure;
  bool closed = false;
};

/// The first track that is free.
std::size_t ChromeTraceSink::Impl::track_of(const ConversionEvent& event) {
  const auto free = std::find_if(tracks.begin(), tracks.end(),
                                 [&](const auto& busy_until) { return busy_until <= event.begin; });
  const auto track = static_cast<std::size_t>(free - tracks.begin());
  if (free != tracks.end()) {
    *free = event.end;
    return track;
  }
  if (tracks.size() == kMostTracks) return kMostTracks - 1;
  tracks.push_back(event.end);
  add(name_event("thread_name", track + 1, fmt::format("conversions {}", track + 1)));
  return track;
}

void ChromeTraceSink::Impl::add(std::string_view text) {
  if (buffer.size() + text.size() + 2 > kBufferBytes) flush();
  buffer += ",\n";
  buffer += text;
}

void ChromeTraceSink::Impl::flush() {
  file.write(written, std::as_bytes(std::span<const char>(buffer)));
  written += buffer.size();
  buffer.clear();
}

ChromeTraceSink::ChromeTraceSink(const std::string& path, bool force,
                                 std::vector<FileIdentity> inputs, Os& os)
    : impl_(std::make_unique<Impl>(os, path, AtomicFile::Options{force, std::move(inputs)})) {}

ChromeTraceSink::~ChromeTraceSink() = default;

void ChromeTraceSink::conversion(const ConversionEvent& event) {
  const std::string text =
      fmt::format(R"("cat":{},"ph":"X","name":{},"ts":{},"dur":{},"args":{{"weight":{},"from":{},)"
                  R"("to":{},"bytes_before":{},"bytes_after":{},"busy_us":{}}}}})",
                  json_text(event.kind), json_text(fmt::format("{} {}", event.kind, event.weight)),
                  microseconds(event.begin - impl_->origin), microseconds(event.end - event.begin),
                  json_text(event.weight), json_text(event.from), json_text(event.to),
                  event.bytes_before, event.bytes_after, microseconds(event.busy));
  const std::lock_guard lock(impl_->mutex);
  if (impl_->failure || impl_->closed) return;
  try {
    const std::size_t track = impl_->track_of(event);
    impl_->add(fmt::format(R"({{"pid":1,"tid":{},{})", track + 1, text));
  } catch (...) {
    impl_->fail();
  }
}

void ChromeTraceSink::close() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->closed) return;
  impl_->closed = true;
  if (impl_->failure) std::rethrow_exception(impl_->failure);
  impl_->buffer += "\n]}\n";
  impl_->flush();
  impl_->file.commit();
}

}  // namespace synps
