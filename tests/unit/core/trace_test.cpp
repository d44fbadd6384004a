#include "synps/trace.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "synps/error.h"
#include "synps/file.h"
#include "temp_dir.h"

namespace synps {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using testing::TempDir;

ConversionEvent event_at(steady_clock::time_point origin, int begin, int end,
                         std::string_view weight = "a.weight") {
  ConversionEvent event;
  event.weight = weight;
  event.kind = "encode";
  event.from = "bf16";
  event.to = "q4_0:q4_0 rows8";
  event.bytes_before = 4096;
  event.bytes_after = 1152;
  event.begin = origin + microseconds(begin);
  event.end = origin + microseconds(end);
  event.busy = nanoseconds(1234567);
  return event;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Span {
  std::string weight;
  double begin = 0;
  double end = 0;
};

/// The complete events of a file, by track.
std::map<std::int64_t, std::vector<Span>> spans_of(const std::string& path) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load(path);
  std::map<std::int64_t, std::vector<Span>> spans;
  for (const simdjson::dom::element each : root["traceEvents"].get_array()) {
    CHECK(each["pid"].get_int64().value() == 1);
    const std::string phase(each["ph"].get_string().value());
    if (phase != "X") {
      CHECK(phase == "M");
      continue;
    }
    const double begin = each["ts"].get_double().value();
    const double end = begin + each["dur"].get_double().value();
    spans[each["tid"].get_int64().value()].push_back(
        {std::string(each["args"]["weight"].get_string().value()), begin, end});
  }
  return spans;
}

TEST_CASE("stored forms have one name") {
  CHECK(stored_form_text("q4_0:q4_0", Order::rows8, Compression::none) == "q4_0:q4_0 rows8");
  CHECK(stored_form_text("f16:f16", Order::rows1, Compression::zstd) == "f16:f16 rows1 zstd");
}

TEST_CASE("a recording sink keeps every event, from any thread") {
  RecordingTraceSink sink;
  const auto origin = steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string path(static_cast<std::size_t>(t) + 1, 'w');  // gone after the call
      for (int i = 0; i < 100; ++i) sink.conversion(event_at(origin, i, i + 5, path));
    });
  for (std::thread& thread : threads) thread.join();
  const auto events = sink.events();
  REQUIRE(events.size() == 400);
  for (std::size_t length = 1; length <= 4; ++length)
    CHECK(std::count_if(events.begin(), events.end(), [&](const auto& event) {
            return event.weight == std::string(length, 'w');
          }) == 100);
  CHECK(events[0].kind == "encode");
  CHECK(events[0].from == "bf16");
  CHECK(events[0].to == "q4_0:q4_0 rows8");
  CHECK(events[0].bytes_before == 4096);
  CHECK(events[0].bytes_after == 1152);
  CHECK(events[0].duration == microseconds(5));
  CHECK(events[0].busy == nanoseconds(1234567));
}

TEST_CASE("a Chrome trace is JSON with what an event says") {
  const TempDir dir;
  const std::string path = dir.file("trace.json");
  ChromeTraceSink sink(path);
  const auto origin = steady_clock::now();
  const std::string odd = "a\"b\\c\n\x01\xC3\xA9";
  sink.conversion(event_at(origin, 10, 30, odd));
  sink.conversion(event_at(origin, 20, 40, "bad \xFF bytes"));
  CHECK_FALSE(std::filesystem::exists(path));
  sink.close();
  sink.close();  // harmless

  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load(path);
  std::vector<simdjson::dom::element> complete;
  for (const simdjson::dom::element each : root["traceEvents"].get_array())
    if (each["ph"].get_string().value() == "X") complete.push_back(each);
  REQUIRE(complete.size() == 2);
  CHECK(complete[0]["args"]["weight"].get_string().value() == odd);
  CHECK(complete[0]["name"].get_string().value() == "encode " + odd);
  CHECK(complete[0]["cat"].get_string().value() == "encode");
  CHECK(complete[0]["dur"].get_double().value() == 20.0);
  CHECK(complete[0]["args"]["from"].get_string().value() == "bf16");
  CHECK(complete[0]["args"]["to"].get_string().value() == "q4_0:q4_0 rows8");
  CHECK(complete[0]["args"]["bytes_before"].get_uint64().value() == 4096);
  CHECK(complete[0]["args"]["bytes_after"].get_uint64().value() == 1152);
  CHECK(complete[0]["args"]["busy_us"].get_double().value() == 1234.567);
  CHECK(complete[1]["args"]["weight"].get_string().value() == "bad \\xff bytes");
  const double apart =
      complete[1]["ts"].get_double().value() - complete[0]["ts"].get_double().value();
  CHECK(apart > 9.9);
  CHECK(apart < 10.1);
}

TEST_CASE("events that overlap are on tracks of their own") {
  const TempDir dir;
  const std::string path = dir.file("trace.json");
  ChromeTraceSink sink(path);
  const auto origin = steady_clock::now();
  for (int i = 0; i < 2000; ++i)  // more text than the buffer holds
    sink.conversion(event_at(origin, i * 10, i * 10 + 25, "weight." + std::to_string(i)));
  sink.close();
  const auto spans = spans_of(path);
  CHECK(spans.size() == 3);
  std::size_t count = 0;
  for (const auto& [track, all] : spans) {
    count += all.size();
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i].begin - all[i - 1].end > -0.001);
  }
  CHECK(count == 2000);
}

TEST_CASE("no trace appears that was not closed, and none replaces a file unasked") {
  const TempDir dir;
  const std::string path = dir.file("trace.json");
  {
    ChromeTraceSink sink(path);
    sink.conversion(event_at(steady_clock::now(), 0, 1));
  }
  CHECK(std::filesystem::is_empty(dir.path()));
  std::ofstream(path) << "mine";
  const auto code_of = [&](bool force, std::vector<FileIdentity> inputs) {
    try {
      ChromeTraceSink(path, force, std::move(inputs)).close();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::usage;  // none
  };
  CHECK(code_of(false, {}) == ErrorCode::output);
  CHECK(text_of(path) == "mine");
  FileStatus status;
  REQUIRE(Os::posix().status(path, true, status) == 0);
  CHECK(code_of(true, {status.identity}) == ErrorCode::output);
  CHECK(text_of(path) == "mine");
  CHECK(code_of(true, {}) == ErrorCode::usage);
  CHECK(spans_of(path).empty());
}

/// A disk that is full from the first byte on.
class FullDisk final : public Os {
 public:
  std::int64_t pwrite(int, const void*, std::size_t, std::uint64_t) override { return -ENOSPC; }
};

TEST_CASE("what cannot be written is told by close alone") {
  const TempDir dir;
  FullDisk os;
  ChromeTraceSink sink(dir.file("trace.json"), false, {}, os);
  const auto origin = steady_clock::now();
  for (int i = 0; i < 2000; ++i) sink.conversion(event_at(origin, i, i + 1));
  try {
    sink.close();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::io);
  }
}

}  // namespace
}  // namespace synps
