// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "cli/hunt_json.h"
#include "cli/hunt_run.h"
#include "cli/hunt_text.h"
#include "cli/messages.h"
#include "cli/terminal.h"
#include "report/describe.h"

namespace deadheat {

namespace {

constexpr std::chrono::milliseconds kLiveInterval{100};
constexpr char kEraseLiveLine[] = "\r\x1b[K";

// A longer line would wrap, and could not be erased.
std::size_t terminal_width() {
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col - 1U : 79U;
}

}  // namespace

HuntScreen::HuntScreen(HuntScreenOptions options, std::string again, std::uint32_t runs, std::optional<Output> document)
    : options_(std::move(options)),
      again_(std::move(again)),
      runs_(runs),
      document_(std::move(document)),
      colour_(colour_for(options_.colour, STDERR_FILENO)),
      has_live_line_(is_terminal(STDERR_FILENO) && !options_.quiet) {}

Result<std::unique_ptr<HuntScreen>> HuntScreen::open(const HuntScreenOptions& options, std::string again,
                                                     std::uint32_t runs) {
  std::optional<Output> document;
  if (options.output || options.format == ReportFormat::kJson) {
    auto opened = Output::open(options.output);
    if (!opened.ok()) return opened.error();
    document.emplace(std::move(opened).value());
  }
  return std::unique_ptr<HuntScreen>(new HuntScreen(options, std::move(again), runs, std::move(document)));
}

void HuntScreen::erase_live_line() {
  if (std::exchange(is_live_line_visible_, false)) std::fputs(kEraseLiveLine, stderr);
}

void HuntScreen::say(std::string_view text) {
  erase_live_line();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void HuntScreen::report(std::string_view text) {
  if (options_.format == ReportFormat::kJson) return;
  if (!document_) return say(text);
  text_ += text;
}

void HuntScreen::show_race(const HuntRace& race, std::uint64_t number) {
  const ColourMode colour = document_ ? colour_for(options_.colour, document_->descriptor()) : colour_;
  report(format_hunted_race(race, number, again_, colour));
}

void HuntScreen::show_finding(const HuntFinding& finding) {
  const ColourMode colour = document_ ? colour_for(options_.colour, document_->descriptor()) : colour_;
  report(format_hunt_finding(finding, again_, colour));
}

void HuntScreen::show_run(const RunRecord& run) {
  if (!options_.quiet) say(format_run_line(run, runs_, colour_));
}

void HuntScreen::show_notice(const std::string& notice) {
  if (options_.quiet || !notices_.insert(notice).second) return;
  say(fmt::format("deadheat: {}\n", printable(notice)));
}

void HuntScreen::show_warning(std::string_view warning) {
  erase_live_line();
  print_warning(warning);
}

void HuntScreen::show_live_line(std::span<const std::unique_ptr<HuntRun>> active, const HuntLedger& ledger) {
  const Clock::time_point now = Clock::now();
  if (!has_live_line_ || active.empty() || now - live_line_at_ < kLiveInterval) return;
  live_line_at_ = now;
  const HuntRun& oldest = *active.front();
  // Runs that are over at once would only flicker.
  if (oldest.seconds() < std::chrono::duration<double>(kLiveInterval).count()) return;
  std::string line = fmt::format("run {}/{}  {}  {:.1f} s", oldest.request().number, runs_,
                                 word_of(oldest.request().strategy), oldest.seconds());
  if (active.size() > 1) line += fmt::format("  and {} more", active.size() - 1);
  line += fmt::format("  {} so far", counted(ledger.races().size(), "race"));
  line = kEraseLiveLine + line.substr(0, terminal_width());
  std::fwrite(line.data(), 1, line.size(), stderr);
  is_live_line_visible_ = true;
}

Status HuntScreen::finish(const HuntLedger& ledger, const HuntSetup& setup) {
  const std::string summary = format_hunt_summary(ledger, again_, setup.seed, colour_);
  if (!options_.quiet) say("\n" + summary);
  if (!document_) return {};
  if (options_.format == ReportFormat::kJson) return document_->write(format_hunt_json(ledger, setup));
  const ColourMode colour = colour_for(options_.colour, document_->descriptor());
  return document_->write(text_ + format_hunt_summary(ledger, again_, setup.seed, colour));
}

}  // namespace deadheat
