#include "logging.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <string_view>

#include "standard_streams.h"

namespace synps::cli {
namespace {

/// spdlog's own sinks buffer in stdio, which would mix up the sequence with our error lines.
class ErrorSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_error(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}
};

}  // namespace

void set_up_logging(bool verbose, bool quiet) {
  auto logger = std::make_shared<spdlog::logger>("synps", std::make_shared<ErrorSink>());
  logger->set_pattern("synps: %l: %v");
  logger->set_level(quiet     ? spdlog::level::off
                    : verbose ? spdlog::level::debug
                              : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace synps::cli
