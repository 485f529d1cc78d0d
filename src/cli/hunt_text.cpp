// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "report/describe.h"
#include "report/live_text.h"

namespace deadheat {

namespace {

constexpr std::size_t kCurveWidth = 60;
constexpr std::size_t kCurveHeight = 8;

std::string describe_signal(int signal) { return fmt::format("signal {} ({})", signal, strsignal(signal)); }

std::string describe_end(const RunRecord& run) {
  switch (run.end) {
    case RunEnd::kExited:
      return run.exit_status.value_or(0) == 0 ? "" : fmt::format("status {}", *run.exit_status);
    case RunEnd::kCrashed:
      return fmt::format("crashed: {}", describe_signal(run.signal.value_or(0)));
    case RunEnd::kTimeLimit:
      return "time limit";
    case RunEnd::kDeadlock:
      return "deadlock";
    case RunEnd::kInterrupted:
      return "interrupted";
  }
  return "";
}

bool is_bad(RunEnd end) { return end == RunEnd::kCrashed || end == RunEnd::kDeadlock; }

std::string describe_schedule(const schedule::RunCounters& counters) {
  if (counters.suspensions == 0 && counters.thrashings == 0) return "";
  return fmt::format("suspended {}, thrashing {}", grouped(counters.suspensions), grouped(counters.thrashings));
}

std::string describe_sightings(const Sightings& seen, std::size_t runs, std::string_view again) {
  return fmt::format("first in run {} ({}, seed {}), in {} of {}; {} {}", seen.first_run, word_of(seen.first_strategy),
                     seen.first_seed, grouped(seen.runs), counted(runs, "run"), again, seen.first_run);
}

std::string list_of_races(const HuntLedger& ledger, std::string_view again, ColourMode colour) {
  std::string text;
  std::size_t number = 0;
  for (const HuntRace& race : ledger.races()) {
    const LiveFinding& live = race.race.live;
    fmt::format_to(std::back_inserter(text), "{:>3}. {}  {}: {} and {}\n     {}\n", ++number, race.race.fingerprint,
                   painted(title_of(live.finding.kind), Paint::kBad, colour),
                   innermost_place(live.finding.later, live.dictionary),
                   innermost_place(live.finding.earlier, live.dictionary),
                   describe_sightings(race.seen, ledger.runs().size(), again));
  }
  for (const HuntFinding& finding : ledger.findings()) {
    fmt::format_to(std::back_inserter(text), "{:>3}. {}  {}\n     {}\n", ++number, finding.fingerprint,
                   painted(describe_finding(finding), Paint::kBad, colour),
                   describe_sightings(finding.seen, ledger.runs().size(), again));
  }
  return text;
}

// Whether runs were to be scheduled and none was: the table would compare names only.
bool has_scheduled_nothing(std::span<const RunRecord> runs) {
  const auto is_asked = [](const RunRecord& run) { return run.strategy != RunStrategy::kNative; };
  const auto is_scheduled = [](const RunRecord& run) { return run.counters.steps != 0 || run.counters.requests != 0; };
  return std::any_of(runs.begin(), runs.end(), is_asked) && std::none_of(runs.begin(), runs.end(), is_scheduled);
}

// What the user should know besides what was found.
std::string list_of_remarks(const HuntLedger& ledger) {
  std::string text;
  const auto add = [&](std::string_view remark) { text += fmt::format("deadheat: {}\n", remark); };
  for (const StatusObservation& status : ledger.statuses()) {
    add(fmt::format("the program ended with status {} in {}, first in run {}; not so in its first run", status.status,
                    counted(status.runs, "run"), status.first_run));
  }
  if (has_scheduled_nothing(ledger.runs())) {
    add("warning: no run was scheduled: the program takes no locks, or its runtime cannot schedule; all were ordinary "
        "runs, whatever the table calls them");
  }
  for (const auto& [name, value] : ledger.losses()) {
    add(fmt::format("warning: lost: {} ({})", printable(name), grouped(value)));
  }
  if (ledger.damaged_reports() != 0) {
    add(fmt::format("warning: {} could not be read", counted(ledger.damaged_reports(), "report")));
  }
  if (ledger.silent_runs() != 0) {
    add(
        fmt::format("warning: nothing was checked in {}: nothing that ran was built for race detection, or the "
                    "detector could not start (then a run-N.out says why)",
                    counted(ledger.silent_runs(), "run")));
  }
  return text;
}

}  // namespace

std::string format_run_line(const RunRecord& run, std::uint32_t runs, ColourMode colour) {
  const std::size_t width = std::to_string(runs).size();
  std::string text = fmt::format("run {:>{}}/{}  {:<8}  seed {:<6}  {:.2f} s  races {}", run.number, width, runs,
                                 word_of(run.strategy), run.seed, run.seconds, run.fingerprints.size());
  if (run.new_races != 0) text += " " + painted(fmt::format("({} new)", run.new_races), Paint::kBad, colour);
  if (const std::string schedule = describe_schedule(run.counters); !schedule.empty()) text += "  " + schedule;
  const std::string end = describe_end(run);
  if (!end.empty()) text += "  " + (is_bad(run.end) ? painted(end, Paint::kBad, colour) : end);
  return text + "\n";
}

std::string format_hunted_race(const HuntRace& race, std::uint64_t number, std::string_view again, ColourMode colour) {
  std::string text = format_live_race(race.race, number, colour);
  add_line(text, "run",
           fmt::format("{} ({}, seed {}); {} {}", race.seen.first_run, word_of(race.seen.first_strategy),
                       race.seen.first_seed, again, race.seen.first_run),
           colour);
  return text + "\n";
}

std::string describe_finding(const HuntFinding& finding) {
  if (finding.signal) return fmt::format("crash: {}", describe_signal(*finding.signal));
  return fmt::format("deadlock of {}", counted(finding.deadlock.cycle.size(), "thread"));
}

std::string format_hunt_finding(const HuntFinding& finding, std::string_view again, ColourMode colour) {
  std::string text = painted(describe_finding(finding), Paint::kBad, colour) + "\n";
  text += format_deadlock(finding.deadlock, colour);
  for (std::size_t index = 0; index < finding.last_output.size(); ++index) {
    add_line(text, index == 0 ? "said" : "", printable(finding.last_output[index]), colour);
  }
  add_line(text, "run",
           fmt::format("{} ({}, seed {}); {} {}", finding.seen.first_run, word_of(finding.seen.first_strategy),
                       finding.seen.first_seed, again, finding.seen.first_run),
           colour);
  add_line(text, "seen", "fingerprint " + finding.fingerprint, colour);
  return text + "\n";
}

std::string format_strategies(const std::vector<StrategyTotals>& totals) {
  std::string text = "strategy    runs  new races  only by it  time per run  thrashing\n";
  for (const StrategyTotals& row : totals) {
    const std::string thrashing =
        row.suspensions == 0
            ? "-"
            : describe_share(static_cast<double>(row.thrashings) / static_cast<double>(row.suspensions));
    fmt::format_to(std::back_inserter(text), "{:<8}  {:>6}  {:>9}  {:>10}  {:>10.3f} s  {:>9}\n", word_of(row.strategy),
                   grouped(row.runs), grouped(row.new_races), grouped(row.only_here),
                   row.seconds / std::max(1U, row.runs), thrashing);
  }
  return text;
}

std::string format_curve(std::span<const RunRecord> runs) {
  std::vector<std::size_t> after;
  std::size_t sum = 0;
  for (const RunRecord& run : runs) after.push_back(sum += run.new_races);
  if (runs.size() < 2 || sum == 0) return "";
  const std::size_t width = std::min(kCurveWidth, runs.size());
  const std::size_t height = std::min(kCurveHeight, sum);
  // The last run of those that a column stands for.
  const auto races_at = [&](std::size_t column) { return after[(column + 1) * runs.size() / width - 1]; };
  const std::size_t margin = std::to_string(sum).size();
  std::string text = "races after each run\n";
  for (std::size_t row = height; row >= 1; --row) {
    const std::size_t level = (row * sum + height - 1) / height;
    std::string line = fmt::format("  {:>{}} |", level, margin);
    for (std::size_t column = 0; column < width; ++column) line += races_at(column) >= level ? '#' : ' ';
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += fmt::format("  {:>{}} +{}\n", 0, margin, std::string(width, '-'));
  const std::string last = std::to_string(runs.size());
  const std::size_t gap = width > last.size() + 1 ? width - last.size() - 1 : 1;
  return text + fmt::format("  {:>{}}  1{}{}\n", "", margin, std::string(gap, ' '), last);
}

std::string format_hunt_summary(const HuntLedger& ledger, std::string_view again, std::uint64_t seed,
                                ColourMode colour) {
  std::string text = format_strategies(ledger.totals()) + "\n";
  if (const std::string curve = format_curve(ledger.runs()); !curve.empty()) text += curve + "\n";
  if (const std::string list = list_of_races(ledger, again, colour); !list.empty()) text += list + "\n";
  text += list_of_remarks(ledger);
  std::string totals = ledger.races().empty()
                           ? painted("no data races", Paint::kGood, colour)
                           : painted(counted(ledger.races().size(), "data race"), Paint::kBad, colour);
  if (ledger.suppressed_count() != 0) totals += fmt::format(", {} suppressed", grouped(ledger.suppressed_count()));
  if (!ledger.findings().empty()) {
    totals += fmt::format(", {}", painted(counted(ledger.findings().size(), "other finding"), Paint::kBad, colour));
  }
  return text + fmt::format("deadheat: {} in {}; seed {}\n", totals, counted(ledger.runs().size(), "run"), seed);
}

}  // namespace deadheat
