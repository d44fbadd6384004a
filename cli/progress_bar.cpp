#include "progress_bar.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "standard_streams.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr std::string_view kWipe = "\r\033[K";

bool is_capable_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::size_t terminal_columns() noexcept {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

ProgressBar::ProgressBar(std::string label, bool quiet)
    : label_(std::move(label)),
      visible_(!quiet && is_capable_terminal(STDERR_FILENO)),
      start_(std::chrono::steady_clock::now()),
      next_(start_ + kInterval) {}

ProgressBar::~ProgressBar() {
  if (drawn_) write_error(kWipe);
}

bool ProgressBar::update(std::uint64_t done, std::uint64_t total) noexcept {
  if (visible_) {
    // A bar that cannot be drawn is no reason to stop the work.
    try {
      draw(done, total);
    } catch (const std::exception&) {
      visible_ = false;
    }
  }
  return pending_signal() == 0;
}

void ProgressBar::draw(std::uint64_t done, std::uint64_t total) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // The last column stays free: some terminals move to the next line when it is written.
  write_error(std::string(kWipe) + progress_text(label_, done, total,
                                                 static_cast<double>(done) / seconds,
                                                 terminal_columns() - 1));
}

std::string progress_text(const std::string& label, std::uint64_t done, std::uint64_t total,
                          double bytes_per_second, std::size_t width) {
  const double share =
      total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string head = fmt::format("{} {:3.0f}%", label, std::min(100.0, 100 * share));
  const std::string tail =
      fmt::format("{} of {}  {}/s", human_bytes(done), human_bytes(total),
                  human_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes_per_second))));
  if (head.size() + 2 + tail.size() > width) return head.substr(0, width);
  const std::size_t rest = width - head.size() - tail.size() - 2;
  if (rest < 14) return head + "  " + tail;
  const std::size_t cells = std::min<std::size_t>(rest - 4, 40);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
  return fmt::format("{} [{}{}]  {}", head, std::string(full, '#'), std::string(cells - full, '.'),
                     tail);
}

}  // namespace synps::cli
