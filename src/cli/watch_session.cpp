// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/launch.h"
#include "cli/messages.h"
#include "cli/terminal.h"
#include "image/atomic_data.h"
#include "image/elf_image.h"
#include "report/describe.h"

namespace deadheat {

namespace {

constexpr double kSlots = 2;  // of each thread: what the agent takes by default
constexpr char kNoAgent[] =
    "the agent did not begin its work (a line above may say why; a program that was started under a filter of system "
    "calls (seccomp) is left alone)";
constexpr char kEraseLine[] = "\r\x1b[K";

double percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Percent of the program's processor time, beyond what is given at the start.
struct WatchSpending {
  double processor = 0;
  double processor_budget = 0;
  double stops = 0;
  double stops_budget = 0;
};

WatchSpending spending_of(const watch::Progress& progress) {
  const auto percent = [&](std::uint64_t spent, std::uint64_t given) {
    return percent_of(spent - std::min(spent, given), progress.processor_ns);
  };
  return {percent(progress.agent_ns + progress.slow_ns, progress.given_agent_ns),
          static_cast<double>(progress.cpu_share) / 1e4, percent(progress.stalled_ns, progress.given_stalled_ns),
          static_cast<double>(progress.stall_share) / 1e4};
}

// Where the file's own addresses are in memory.
std::uint64_t load_bias_of(const RawModule& module) {
  const auto image = ElfImage::open(module.path);
  return image.ok() ? module.begin - image.value().lowest_address() : module.begin;
}

// The agent's own, by frame pointers, can be longer where there are no tables.
void use_longer_stack(watch::WatchedAccess& access, const std::vector<std::uint64_t>& returns) {
  if (returns.size() < access.frame_count) return;
  std::copy(returns.begin(), returns.end(), access.frames);
  access.frame_count = static_cast<std::uint32_t>(returns.size());
}

std::string describe_values(const watch::Collision& collision) {
  const auto since_epoch = std::chrono::nanoseconds(collision.time_ns);
  const std::time_t seconds_of_day = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
  std::tm time = {};
  localtime_r(&seconds_of_day, &time);
  const bool is_changed = collision.value_before != collision.value_after;
  return fmt::format("at {:02}:{:02}:{:02}.{:03} the value {} {:#x}{}", time.tm_hour, time.tm_min, time.tm_sec,
                     collision.time_ns / 1'000'000 % 1000, is_changed ? "went from" : "stayed", collision.value_before,
                     is_changed ? fmt::format(" to {:#x}", collision.value_after) : "");
}

// Where we see the files of the process; empty if that is where it sees them.
std::string root_of(pid_t process) {
  std::error_code error;
  const auto root = std::filesystem::read_symlink(fmt::format("/proc/{}/root", process), error);
  if (!error && root != "/") return fmt::format("/proc/{}/root", process);
  const auto theirs = std::filesystem::read_symlink(fmt::format("/proc/{}/ns/mnt", process), error);
  const auto ours = std::filesystem::read_symlink("/proc/self/ns/mnt", error);
  return error || theirs == ours ? std::string() : fmt::format("/proc/{}/root", process);
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
  read_what_waits();
  if (!limits_.is_quiet) show_summary();
  if (const Status status = output_.finish(report_, ending_of(end, program)); !status.ok()) {
    return failed(status.error(), ExitCode::kFailure);
  }
  if (output_.failing_count(report_) != 0 && race_exit_code != 0) return exit_code(race_exit_code);
  if (WIFSIGNALED(end.wait_status)) return exit_code(128 + WTERMSIG(end.wait_status));
  if (has_seen_nothing() && WEXITSTATUS(end.wait_status) == 0 && race_exit_code != 0) return ExitCode::kNothingSeen;
  return exit_code(WEXITSTATUS(end.wait_status));
}

// A second interrupt does not wait for the agent.
void WatchSession::listen(watch::InjectedAgent& agent, const WatchedSignals& signals) {
  constexpr int kLookAgain = 100;                      // milliseconds
  constexpr auto kPatience = std::chrono::seconds(5);  // with an agent whose process is stopped (SIGSTOP)
  std::chrono::steady_clock::time_point asked_at;
  std::vector<std::byte> buffer(sizeof(watch::Collision) + sizeof(watch::Modules));
  bool was_asked = false;
  while (!has_ended_) {
    pollfd waits[] = {{agent.channel(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    poll(waits, 2, kLookAgain);
    bool is_over = is_enough();
    while (const auto signal = signals.next()) {
      if (signal->number == SIGCHLD) continue;
      if (was_asked) return;
      is_over = true;
    }
    if (is_over && !std::exchange(was_asked, true)) {
      agent.ask_to_finish();
      asked_at = std::chrono::steady_clock::now();
    }
    if (was_asked && std::chrono::steady_clock::now() - asked_at > kPatience) return;
    if (waits[0].revents == 0) continue;
    const ssize_t size = recv(agent.channel(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return;  // the process has ended
    if (size > 0) take(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(size)));
  }
}

ExitCode WatchSession::watch(watch::InjectedAgent& agent, const WatchedSignals& signals, pid_t process,
                             const std::string& program, int race_exit_code) {
  root_ = root_of(process);
  listen(agent, signals);
  erase_live_line();
  if (const Status status = agent.withdraw(); !status.ok()) print_warning(status.error().message);
  read_what_waits();
  if (!limits_.is_quiet) show_summary();
  LiveEnding ending;
  ending.program = program;
  const bool goes_on = kill(process, 0) == 0 || errno == EPERM;
  ending.words = fmt::format("; process {} {}", process, goes_on ? "goes on" : "has ended");
  if (!has_begun_) ending.problem = kNoAgent;
  if (damaged_ != 0) ending.problem = counted(damaged_, "packet") + " of the agent could not be read";
  say_if_nothing_was_seen(ending);
  if (const Status status = output_.finish(report_, ending); !status.ok()) {
    return failed(status.error(), ExitCode::kFailure);
  }
  if (!has_begun_) return ExitCode::kFailure;
  if (race_exit_code == 0) return ExitCode::kSuccess;
  if (has_seen_nothing()) return ExitCode::kNothingSeen;
  return report_.race_count() != 0 ? exit_code(race_exit_code) : ExitCode::kSuccess;
}

bool WatchSession::has_seen_nothing() const { return latest_.watches == 0 && report_.race_count() == 0; }

void WatchSession::say_if_nothing_was_seen(LiveEnding& ending) const {
  if (!has_seen_nothing()) return;
  ending.nothing_seen = "nothing was looked at";
  if (has_begun_ && !ending.problem) {
    ending.problem =
        "no look was taken in this time, which says nothing about races: watch for longer, or with more --watches, "
        "--stops and --cpu";
  }
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
  } else if (auto* const collision = std::get_if<watch::Collision>(&body)) {
    take_collision(*collision);
  } else if (const auto* const progress = std::get_if<watch::Progress>(&body)) {
    latest_ = *progress;
    show_live_line();
  } else if (const auto* const message = std::get_if<WatchMessage>(&body)) {
    erase_live_line();
    print_warning(printable(message->text));
  } else if (std::holds_alternative<WatchEnd>(body)) {
    has_ended_ = true;
  }
}

void WatchSession::take_modules(std::uint32_t process, LoadedModules loaded) {
  waiting_modules_.emplace_back(process, std::move(loaded));
  if (!root_.empty()) read_what_waits();  // whose files go with the process
}

void WatchSession::read_what_waits() {
  // At the end of a quiet watch nobody asks where code and atomic variables are; to read that takes a tenth of a
  // second.
  const bool are_needed = !waiting_collisions_.empty() || !root_.empty();
  for (auto& [process, loaded] : std::exchange(waiting_modules_, {})) {
    if (are_needed) read_modules(loaded);
    const RawPacket packet{process, ModulesPacket{std::move(loaded.modules)}};
    static_cast<void>(report_.add(packet));
    static_cast<void>(suspects_.add(packet));
  }
  for (watch::Collision& collision : std::exchange(waiting_collisions_, {})) add_collision(std::move(collision));
}

void WatchSession::read_modules(LoadedModules& loaded) {
  for (RawModule& module : loaded.modules) {
    // A file that was mapped before chroot is only where we see it; and a path that is the same file for both of us
    // stays when the process goes.
    if (std::error_code error; !root_.empty() && std::filesystem::exists(root_ + module.path, error) &&
                               !std::filesystem::equivalent(root_ + module.path, module.path, error)) {
      module.path = root_ + module.path;
    }
    module.load_bias = load_bias_of(module);
    unwinder_.add_module(module.path, module.load_bias);
    auto data = atomic_data_by_debug_information(module.path);
    if (!data.empty()) atomic_modules_.push_back({module.begin, module.end, module.load_bias, std::move(data)});
  }
}

bool WatchSession::is_atomic_variable(std::uint64_t address) const {
  return std::any_of(atomic_modules_.begin(), atomic_modules_.end(), [&](const AtomicModule& module) {
    return address >= module.begin && address < module.end && is_in_ranges(module.data, address - module.bias);
  });
}

void WatchSession::take_collision(const watch::Collision& collision) {
  constexpr std::size_t kMostWaiting = 256;
  waiting_collisions_.push_back(collision);
  // Suspects are listed at the end.
  const bool can_wait = collision.is_confirmed == 0 && !has_live_line_ && waiting_collisions_.size() < kMostWaiting;
  if (!can_wait) read_what_waits();
}

void WatchSession::add_collision(watch::Collision collision) {
  if (is_atomic_variable(collision.sampled.address)) {
    ++atomic_collisions_;
    return;
  }
  use_longer_stack(collision.sampled, unwinder_.unwind(collision.sampled_stack));
  use_longer_stack(collision.tripped, unwinder_.unwind(collision.tripped_stack));
  const RawPacket packet = translator_.translate(collision, ++findings_);
  if (collision.is_confirmed == 0) {
    static_cast<void>(suspects_.add(packet));
    return;
  }
  const LiveReport::News news = report_.add(packet);
  erase_live_line();
  output_.show(news, packet.process);
  if (news.race != nullptr && !limits_.is_quiet) print_note(describe_values(collision));
}

void WatchSession::show_live_line() {
  if (!has_live_line_) return;
  const double elapsed = seconds(latest_.elapsed_ns);
  const double rate = elapsed > 0 ? static_cast<double>(latest_.watches) / elapsed : 0;
  const double coverage = elapsed > 0 ? seconds(latest_.watched_ns) / elapsed / kSlots : 0;
  const WatchSpending spent = spending_of(latest_);
  fmt::print(stderr,
             "{}{:.0f} s  {:.0f} watches/s (of {})  coverage {:.0f}%  {} of {} sites  processor {:.1f}% (of {:g}%)  "
             "stops {:.1f}% (of {:g}%)  {}  {}",
             kEraseLine, elapsed, rate, latest_.rate, 100 * coverage, latest_.sites_covered, latest_.sites,
             spent.processor, spent.processor_budget, spent.stops, spent.stops_budget,
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
  const bool is_known = latest_.watches != 0 || report_.race_count() == 0;  // --until-race may come before the figures
  if (is_known) {
    print_note(fmt::format(
        "watched for {:.1f} s: {} at {} of {} sites ({:.0f}%), something was watched {:.0f}% of the time; {} "
        "of threads ({:.0f} ms, the longest {:.1f} ms); the agent took {:.2f} s",
        elapsed, counted(latest_.watches, "look"), latest_.sites_covered, latest_.sites,
        percent_of(latest_.sites_covered, latest_.sites),
        std::min(100.0, percent_of(latest_.watched_ns, latest_.elapsed_ns)), counted(latest_.stalls, "stop"),
        1e3 * seconds(latest_.stalled_ns), 1e3 * seconds(latest_.longest_stall_ns), seconds(latest_.agent_ns)));
    const WatchSpending spent = spending_of(latest_);
    print_note(fmt::format(
        "spent of the budgets: {:.1f} of {} watches a second, stops {:.2f}% of {:g}% of the time that "
        "threads run, processor time {:.2f}% of {:g}% ({:.0f} ms, and about {:.0f} ms of slower code), beyond the "
        "{:.0f} "
        "and {:.0f} ms that are given at the start",
        elapsed > 0 ? static_cast<double>(latest_.watches) / elapsed : 0, latest_.rate, spent.stops, spent.stops_budget,
        spent.processor, spent.processor_budget, 1e3 * seconds(latest_.agent_ns), 1e3 * seconds(latest_.slow_ns),
        1e3 * seconds(latest_.given_stalled_ns), 1e3 * seconds(latest_.given_agent_ns)));
  }
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
  if (!has_begun_) ending.problem = kNoAgent;
  if (damaged_ != 0) ending.problem = counted(damaged_, "packet") + " of the agent could not be read";
  say_if_nothing_was_seen(ending);
  return ending;
}

}  // namespace deadheat
