// SPDX-License-Identifier: Apache-2.0
// HuntLedger: all that the runs of one hunt have found, each thing once.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/hunt_record.h"
#include "cli/hunt_run.h"

namespace deadheat {

// What the runs of one strategy did together.
struct StrategyTotals {
  RunStrategy strategy = RunStrategy::kNative;
  std::uint32_t runs = 0;
  std::uint32_t new_races = 0;
  std::uint32_t only_here = 0;  // races that no run of another strategy had
  double seconds = 0;
  std::uint64_t suspensions = 0;
  std::uint64_t thrashings = 0;
};

class HuntLedger {
 public:
  // A race that a run reports. The entry if it is new, otherwise nullptr. Entries are
  // valid until the next call.
  const HuntRace* meet(const LiveRace& race, const HuntRunRequest& run);

  // A run that has ended: completes its record and keeps it. The entry of its crash or
  // deadlock if that is new, otherwise nullptr.
  const HuntFinding* close(RunRecord record, HuntRun& run);

  // In the order in which the runs ended.
  [[nodiscard]] std::span<const RunRecord> runs() const { return runs_; }
  [[nodiscard]] std::span<const HuntRace> races() const { return races_; }
  [[nodiscard]] std::span<const HuntFinding> findings() const { return findings_; }
  [[nodiscard]] std::span<const StatusObservation> statuses() const { return statuses_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& losses() const { return losses_; }
  [[nodiscard]] bool has_found() const { return !races_.empty() || !findings_.empty(); }
  // Distinct races that suppressions hid.
  [[nodiscard]] std::uint64_t suppressed_count() const { return suppressed_.size(); }
  [[nodiscard]] std::uint64_t damaged_reports() const { return damaged_reports_; }
  // Runs in which no process reported, although they were given the time.
  [[nodiscard]] std::uint32_t silent_runs() const { return silent_runs_; }
  // Runs in a row, up to now, that brought nothing new.
  [[nodiscard]] std::uint32_t quiet_runs() const { return quiet_runs_; }

  // Of the strategies that had runs, in the order of their first.
  [[nodiscard]] std::vector<StrategyTotals> totals() const;

 private:
  void count_races(RunRecord& record, LiveReport& report);
  const HuntFinding* meet_finding(RunRecord& record, const HuntRun& run);
  void note_status(const RunRecord& record);

  std::vector<RunRecord> runs_;
  std::vector<HuntRace> races_;
  std::map<std::string, std::size_t> race_index_;   // by fingerprint
  std::map<std::uint32_t, std::uint32_t> news_of_;  // races that a run brought, before it is closed
  std::vector<HuntFinding> findings_;
  std::vector<StatusObservation> statuses_;
  std::map<std::string, std::uint64_t> losses_;
  std::set<std::string> suppressed_;  // fingerprints
  std::uint64_t damaged_reports_ = 0;
  std::uint32_t silent_runs_ = 0;
  std::uint32_t quiet_runs_ = 0;
};

}  // namespace deadheat
