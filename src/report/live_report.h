// SPDX-License-Identifier: Apache-2.0
// LiveReport: all that the processes of one run have said, put together.
//
// A run can have many processes: the program forks, starts others, replaces
// itself by exec. Each sends its own findings, numbered by itself, and totals of
// how often each was seen. The same race in several processes, or found twice in
// one with different stacks, has one fingerprint and is one race here, whose
// occurrences are added up.
//
// A process that forked goes on with the findings its parent had: a repetition of
// a number that the process itself never reported is one of its nearest ancestor
// that did. A greeting from a known process number means exec (or a reused
// number): its numbers start anew.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/live_cold_calls.h"
#include "report/live_finding.h"
#include "report/live_sampling.h"
#include "report/module_map.h"
#include "report/raw_packet_reader.h"
#include "report/suppressions.h"
#include "report/symbolizer.h"

namespace deadheat {

// A distinct race.
struct LiveRace {
  std::string fingerprint;
  bool is_suppressed = false;
  std::string program;  // of the process that found it first
  LiveFinding live;     // as first found; of a suppressed race only the numbers
  std::uint64_t occurrences = 1;
};

struct LiveCounter {
  std::string name;
  std::uint64_t value = 0;
  bool is_loss = false;
};

class LiveReport {
 public:
  // A symbolizer of its own, or one that others use, too: it keeps what it has read.
  explicit LiveReport(Suppressions suppressions = {},
                      std::shared_ptr<Symbolizer> symbolizer = std::make_shared<Symbolizer>())
      : suppressions_(std::move(suppressions)), symbolizer_(std::move(symbolizer)) {}
  LiveReport(const LiveReport&) = delete;
  LiveReport& operator=(const LiveReport&) = delete;

  // What a packet brought that the user should see at once. A race is valid until
  // the next packet.
  struct News {
    const LiveRace* race = nullptr;
    std::optional<std::string> notice;
  };
  // Packets of one process in their order. Pieces of a trace are ignored.
  News add(const RawPacket& packet);

  // Distinct races in the order in which they were found, occurrences up to date.
  [[nodiscard]] const std::vector<LiveRace>& races();
  // How many of them are (not) suppressed.
  [[nodiscard]] std::uint64_t race_count() const { return race_count_; }
  [[nodiscard]] std::uint64_t suppressed_count() const { return races_.size() - race_count_; }
  // Of the races that are not suppressed.
  [[nodiscard]] std::uint64_t occurrences();

  // Summed over all processes, by name.
  [[nodiscard]] std::vector<LiveCounter> counters() const;
  // Of the last word of each process on it, added up; nothing if none samples.
  [[nodiscard]] std::optional<LiveSampling> sampling() const;
  // The same for calls of cold code.
  [[nodiscard]] std::optional<LiveColdCalls> cold_calls() const;
  // Whether every process that spoke said its last word.
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] std::uint64_t process_count() const { return lives_.size(); }

  [[nodiscard]] const Suppressions& suppressions() const { return suppressions_; }
  [[nodiscard]] const ModuleMap& modules_of(std::uint32_t process);
  [[nodiscard]] Symbolizer& symbolizer() { return *symbolizer_; }

 private:
  // One program in one process, from its greeting to exec or exit.
  struct Life {
    std::string program;
    Life* parent = nullptr;
    ModuleMap modules;
    std::map<std::uint64_t, std::size_t> races;          // number of a finding -> index in races_
    std::multimap<std::uint32_t, std::size_t> counted;   // number of counts -> index in races_
    std::map<std::uint64_t, std::uint64_t> occurrences;  // totals of its latest summary
    std::vector<RawCounter> counters;
    std::optional<raw_report::Sampling> sampling;
    std::optional<raw_report::ColdCalls> cold_calls;
    bool is_finished = false;
  };

  Life& life_of(std::uint32_t process);
  Life& begin_life(std::uint32_t process);
  [[nodiscard]] const ModuleMap& modules_of(const Life& life) const;
  const LiveRace* add_finding(std::uint32_t process, const FindingPacket& packet);
  void add_counts_to_races(Life& life, const CountsPacket& packet);
  static void add_summary(Life& life, const SummaryPacket& packet);
  void count_occurrences();

  Suppressions suppressions_;
  std::shared_ptr<Symbolizer> symbolizer_;
  std::deque<Life> lives_;  // never moves them
  std::map<std::uint32_t, Life*> current_;
  std::vector<LiveRace> races_;
  std::map<std::pair<std::string, bool>, std::size_t> by_fingerprint_;  // with is_suppressed
  std::uint64_t race_count_ = 0;
};

}  // namespace deadheat
