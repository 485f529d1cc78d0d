// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_session.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/terminal.h"
#include "image/elf_image.h"
#include "report/describe.h"

namespace deadheat {

namespace {

constexpr char kEraseLine[] = "\r\x1b[K";

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Where the file's own addresses are in memory.
std::uint64_t load_bias_of(const RawModule& module) {
  const auto image = ElfImage::open(module.path);
  return image.ok() ? module.begin - image.value().lowest_address() : module.begin;
}

}  // namespace

WatchSession::WatchSession(const WatchLimits& limits, Suppressions suppressions, LiveOutput output)
    : limits_(limits),
      symbolizer_(std::make_shared<Symbolizer>()),
      report_(std::move(suppressions), symbolizer_),
      suspects_({}, symbolizer_),
      output_(std::move(output)),
      has_live_line_(!limits.is_quiet && is_terminal(STDERR_FILENO)),
      started_(std::chrono::steady_clock::now()) {}

ExitCode WatchSession::watch(ChildProcess& child, const WatchedSignals& signals, const std::string& program,
                             int race_exit_code) {
  output_.begin();
  const ChildEnd end = child.watch(signals, [&](std::span<const std::byte> bytes, int) {
    take(bytes);
    if (is_enough()) child.stop_listening();
    return AfterPacket::kGoOn;
  });
  erase_live_line();
  if (!limits_.is_quiet) show_summary();
  if (const Status status = output_.finish(report_, ending_of(end, program)); !status.ok()) {
    print_error(status.error().message);
  }
  if (WIFSIGNALED(end.wait_status)) return exit_code(128 + WTERMSIG(end.wait_status));
  if (output_.failing_count(report_) != 0 && race_exit_code != 0) return exit_code(race_exit_code);
  return exit_code(WEXITSTATUS(end.wait_status));
}

bool WatchSession::is_enough() const {
  if (limits_.until_race && report_.race_count() != 0) return true;
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - started_;
  return limits_.duration_us && passed.count() >= *limits_.duration_us;
}

void WatchSession::take(std::span<const std::byte> bytes) {
  auto packet = parse_watch_packet(bytes);
  if (!packet.ok()) {
    ++damaged_;
    return;
  }
  const std::uint32_t process = packet.value().process;
  auto& body = packet.value().body;
  if (std::holds_alternative<watch::Hello>(body)) {
    has_begun_ = true;
    const RawPacket hello{process, HelloPacket{}};
    static_cast<void>(report_.add(hello));
    static_cast<void>(suspects_.add(hello));
  } else if (auto* const loaded = std::get_if<LoadedModules>(&body)) {
    take_modules(process, std::move(*loaded));
  } else if (const auto* const collision = std::get_if<watch::Collision>(&body)) {
    take_collision(*collision);
  } else if (const auto* const progress = std::get_if<watch::Progress>(&body)) {
    latest_ = *progress;
    show_live_line();
  } else if (const auto* const message = std::get_if<WatchMessage>(&body)) {
    erase_live_line();
    print_warning(printable(message->text));
  }
}

void WatchSession::take_modules(std::uint32_t process, LoadedModules loaded) {
  for (RawModule& module : loaded.modules) module.load_bias = load_bias_of(module);
  const RawPacket packet{process, ModulesPacket{std::move(loaded.modules)}};
  static_cast<void>(report_.add(packet));
  static_cast<void>(suspects_.add(packet));
}

void WatchSession::take_collision(const watch::Collision& collision) {
  const RawPacket packet = translator_.translate(collision, ++findings_);
  if (collision.is_confirmed == 0) {
    static_cast<void>(suspects_.add(packet));
    return;
  }
  const LiveReport::News news = report_.add(packet);
  erase_live_line();
  output_.show(news, packet.process);
}

void WatchSession::show_live_line() {
  if (!has_live_line_) return;
  const double elapsed = seconds(latest_.elapsed_ns);
  const double rate = elapsed > 0 ? static_cast<double>(latest_.watches) / elapsed : 0;
  const double cost = elapsed > 0 ? seconds(latest_.agent_ns) / elapsed : 0;
  fmt::print(stderr, "{}{:.0f} s  {:.0f} watches/s  {} of {} sites  agent {:.1f}% of a core  {}  {}", kEraseLine,
             elapsed, rate, latest_.sites_covered, latest_.sites, 100 * cost,
             counted(suspects_.races().size(), "suspect"), counted(report_.race_count(), "race"));
  std::fflush(stderr);
  is_live_line_visible_ = true;
}

void WatchSession::erase_live_line() {
  if (!std::exchange(is_live_line_visible_, false)) return;
  std::fputs(kEraseLine, stderr);
  std::fflush(stderr);
}

void WatchSession::show_summary() {
  if (!has_begun_) return;
  const double elapsed = seconds(latest_.elapsed_ns);
  print_note(
      fmt::format("watched for {:.1f} s: {} at {} of {} sites, {} of threads ({:.0f} ms); the agent took {:.2f} s",
                  elapsed, counted(latest_.watches, "look"), latest_.sites_covered, latest_.sites,
                  counted(latest_.stalls, "stop"), 1e3 * seconds(latest_.stalled_ns), seconds(latest_.agent_ns)));
  std::set<std::string> confirmed;
  for (const LiveRace& race : report_.races()) confirmed.insert(race.fingerprint);
  for (const LiveRace& suspect : suspects_.races()) {
    if (confirmed.contains(suspect.fingerprint)) continue;
    const Finding& finding = suspect.live.finding;
    print_note(fmt::format("suspect, not confirmed ({} times): {} and {}", suspect.occurrences,
                           innermost_place(finding.earlier, suspect.live.dictionary),
                           innermost_place(finding.later, suspect.live.dictionary)));
  }
}

LiveEnding WatchSession::ending_of(const ChildEnd& end, const std::string& program) const {
  LiveEnding ending;
  ending.program = program;
  if (WIFSIGNALED(end.wait_status)) {
    ending.signal = WTERMSIG(end.wait_status);
    ending.words = fmt::format("; program was killed by signal {} ({})", *ending.signal, strsignal(*ending.signal));
  } else {
    ending.exit_status = WEXITSTATUS(end.wait_status);
    ending.words = fmt::format("; program ended with status {}", *ending.exit_status);
  }
  if (latest_.elapsed_ns != 0) ending.overhead = seconds(latest_.agent_ns) / seconds(latest_.elapsed_ns);
  if (!has_begun_) ending.problem = "the agent did not begin its work (a line above may say why)";
  if (damaged_ != 0) ending.problem = counted(damaged_, "packet") + " of the agent could not be read";
  return ending;
}

}  // namespace deadheat
