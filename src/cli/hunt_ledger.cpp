// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "report/fingerprint.h"

namespace deadheat {

namespace {

constexpr std::size_t kLastLines = 4;
constexpr std::streamoff kLastBytes = 2000;

// The end of what a program printed: usually why it died.
std::vector<std::string> last_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kLastBytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.size() > kLastLines) lines.erase(lines.begin(), lines.end() - kLastLines);
  return lines;
}

Sightings first_sighting(std::uint32_t number, RunStrategy strategy, std::uint64_t seed) {
  return {.first_run = number, .first_strategy = strategy, .first_seed = seed, .runs = 0, .strategies = {}};
}

}  // namespace

const HuntRace* HuntLedger::meet(const LiveRace& race, const HuntRunRequest& run) {
  const auto [place, is_new] = race_index_.try_emplace(race.fingerprint, races_.size());
  if (!is_new) return nullptr;
  ++news_of_[run.number];
  races_.push_back({race, first_sighting(run.number, run.strategy, run.seed), 0});
  return &races_.back();
}

void HuntLedger::count_races(RunRecord& record, LiveReport& report) {
  for (const LiveRace& race : report.races()) {
    if (race.is_suppressed) {
      suppressed_.insert(race.fingerprint);
      continue;
    }
    HuntRace& known = races_[race_index_.at(race.fingerprint)];
    known.seen.add(record);
    known.occurrences += race.occurrences;
    known.race.occurrences = known.occurrences;
    known.race.live.finding.occurrences = known.occurrences;
  }
  const auto news = news_of_.find(record.number);
  if (news == news_of_.end()) return;
  record.new_races = news->second;
  news_of_.erase(news);
}

const HuntFinding* HuntLedger::meet_finding(RunRecord& record, const HuntRun& run) {
  if (record.end != RunEnd::kCrashed && record.end != RunEnd::kDeadlock) return nullptr;
  if (record.end == RunEnd::kDeadlock && !run.deadlock()) return nullptr;
  const bool is_crash = record.end == RunEnd::kCrashed;
  record.finding = is_crash ? fingerprint_of(fmt::format("signal {}", *record.signal)) : run.deadlock()->fingerprint;
  const auto same = [&](const HuntFinding& finding) { return finding.fingerprint == *record.finding; };
  const auto known = std::find_if(findings_.begin(), findings_.end(), same);
  if (known != findings_.end()) {
    known->seen.add(record);
    return nullptr;
  }
  record.is_new_finding = true;
  HuntFinding& finding = findings_.emplace_back();
  finding.fingerprint = *record.finding;
  if (is_crash) {
    finding.signal = record.signal;
  } else {
    finding.deadlock = *run.deadlock();
  }
  if (run.request().output) finding.last_output = last_lines(*run.request().output);
  finding.seen = first_sighting(record.number, record.strategy, record.seed);
  finding.seen.add(record);
  return &finding;
}

void HuntLedger::note_status(const RunRecord& record) {
  if (!record.exit_status || runs_.empty()) return;
  if (*record.exit_status == 0 || record.exit_status == runs_.front().exit_status) return;
  for (StatusObservation& known : statuses_) {
    if (known.status != *record.exit_status) continue;
    ++known.runs;
    return;
  }
  statuses_.push_back({*record.exit_status, record.number, 1});
}

const HuntFinding* HuntLedger::close(RunRecord record, HuntRun& run) {
  count_races(record, run.report());
  const HuntFinding* const finding = meet_finding(record, run);
  note_status(record);
  for (const LiveCounter& counter : run.report().counters()) {
    if (counter.is_loss && counter.value != 0) losses_[counter.name] += counter.value;
  }
  damaged_reports_ += run.damaged_reports();
  if (run.report().process_count() == 0 && record.end != RunEnd::kInterrupted) ++silent_runs_;
  quiet_runs_ = record.has_news() ? 0 : quiet_runs_ + 1;
  runs_.push_back(std::move(record));
  return finding;
}

std::vector<StrategyTotals> HuntLedger::totals() const {
  std::vector<StrategyTotals> all;
  const auto totals_of = [&](RunStrategy strategy) -> StrategyTotals& {
    const auto same = [&](const StrategyTotals& totals) { return totals.strategy == strategy; };
    const auto known = std::find_if(all.begin(), all.end(), same);
    if (known != all.end()) return *known;
    StrategyTotals& fresh = all.emplace_back();
    fresh.strategy = strategy;
    return fresh;
  };
  for (const RunRecord& run : runs_) {
    StrategyTotals& totals = totals_of(run.strategy);
    ++totals.runs;
    totals.new_races += run.new_races;
    totals.seconds += run.seconds;
    totals.suspensions += run.counters.suspensions;
    totals.thrashings += run.counters.thrashings;
  }
  for (const HuntRace& race : races_) {
    if (race.seen.strategies.size() == 1) ++totals_of(race.seen.strategies.front()).only_here;
  }
  return all;
}

}  // namespace deadheat
