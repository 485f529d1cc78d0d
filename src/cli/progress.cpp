// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/terminal.h"
#include "report/describe.h"

namespace deadheat {

namespace {

constexpr std::chrono::milliseconds kPatience{500};
constexpr std::chrono::milliseconds kInterval{100};
// Back to the first column and erase to the end of the line.
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine()
    : on_terminal_(is_terminal(STDERR_FILENO)), start_(Clock::now()), next_(start_ + kPatience) {}

double ProgressLine::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void ProgressLine::update(SourceProgress progress, std::uint64_t events, std::optional<std::uint64_t> races) {
  if (!on_terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  visible_ = true;
  std::string line = kEraseLine;
  if (progress.total > 0) {
    const double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    line += fmt::format("{:3.0f}%  ", 100.0 * std::min(share, 1.0));
  }
  line += fmt::format("{}, {:.1f} million/s", counted(events, "event"), static_cast<double>(events) / 1e6 / seconds());
  if (races) line += ", " + counted(*races, "race");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void ProgressLine::clear() {
  if (!visible_) return;
  std::fputs(kEraseLine, stderr);
  visible_ = false;
}

}  // namespace deadheat
