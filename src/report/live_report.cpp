// SPDX-License-Identifier: Apache-2.0
#include "report/live_report.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "report/fingerprint.h"

namespace deadheat {

LiveReport::Life& LiveReport::begin_life(std::uint32_t process) {
  Life& life = lives_.emplace_back();
  current_[process] = &life;
  return life;
}

LiveReport::Life& LiveReport::life_of(std::uint32_t process) {
  const auto known = current_.find(process);
  return known == current_.end() ? begin_life(process) : *known->second;
}

// A forked process need not repeat the modules that it shares with its parent.
const ModuleMap& LiveReport::modules_of(const Life& life) const {
  for (const Life* one = &life; one != nullptr; one = one->parent) {
    if (!one->modules.empty()) return one->modules;
  }
  return lives_.front().modules;
}

const ModuleMap& LiveReport::modules_of(std::uint32_t process) { return modules_of(life_of(process)); }

LiveReport::News LiveReport::add(const RawPacket& packet) {
  News news;
  if (const auto* hello = std::get_if<HelloPacket>(&packet.body)) {
    const auto parent = current_.find(hello->parent_process);
    Life* parent_life = parent == current_.end() ? nullptr : parent->second;
    Life& life = begin_life(packet.process);
    life.program = hello->program;
    life.parent = parent_life;
  } else if (const auto* modules = std::get_if<ModulesPacket>(&packet.body)) {
    life_of(packet.process).modules.replace(modules->modules);
  } else if (const auto* finding = std::get_if<FindingPacket>(&packet.body)) {
    news.race = add_finding(packet.process, *finding);
  } else if (const auto* notice = std::get_if<NoticePacket>(&packet.body)) {
    life_of(packet.process);
    news.notice = notice->text.substr(0, notice->text.find('\0'));
  } else if (const auto* lines = std::get_if<SuppressionsPacket>(&packet.body)) {
    const Status status = suppressions_.add_of_program(lines->text, life_of(packet.process).program, lines->first_line);
    if (!status.ok()) news.notice = "__tsan_default_suppressions: " + status.error().message;
  } else if (const auto* summary = std::get_if<SummaryPacket>(&packet.body)) {
    add_summary(life_of(packet.process), *summary);
  } else if (const auto* sampling = std::get_if<SamplingPacket>(&packet.body)) {
    life_of(packet.process).sampling = sampling->sampling;
  } else if (const auto* cold = std::get_if<ColdCallsPacket>(&packet.body)) {
    life_of(packet.process).cold_calls = cold->calls;
  } else if (const auto* counts = std::get_if<CountsPacket>(&packet.body)) {
    add_counts_to_races(life_of(packet.process), *counts);
  }
  return news;
}

const LiveRace* LiveReport::add_finding(std::uint32_t process, const FindingPacket& packet) {
  Life& life = life_of(process);
  LiveFinding live = make_live_finding(process, packet, modules_of(life), *symbolizer_);
  Suppression* suppression = suppressions_.match(live, life.program);
  const bool is_suppressed = suppression != nullptr;
  std::string fingerprint = fingerprint_of(live.finding, live.dictionary);
  const auto [place, is_new] = by_fingerprint_.try_emplace({fingerprint, is_suppressed}, races_.size());
  life.races[packet.finding.id] = place->second;
  if (!is_new) return nullptr;
  LiveRace& race = races_.emplace_back();
  race.fingerprint = std::move(fingerprint);
  race.is_suppressed = is_suppressed;
  race.program = life.program;
  if (is_suppressed) {
    ++suppression->matches;
    return nullptr;
  }
  race.live = std::move(live);
  if (race.live.counted != 0) life.counted.emplace(race.live.counted, place->second);
  ++race_count_;
  return &race;
}

void LiveReport::add_counts_to_races(Life& life, const CountsPacket& packet) {
  const auto [begin, end] = life.counted.equal_range(packet.counts.number);
  for (auto at = begin; at != end; ++at) {
    add_counts(races_[at->second].live, packet, modules_of(life), *symbolizer_);
  }
}

void LiveReport::add_summary(Life& life, const SummaryPacket& packet) {
  // A summary may come in several packets when it has many repetitions, so
  // numbers are replaced one by one.
  for (const raw_report::Repeat& repeat : packet.repeats) life.occurrences[repeat.finding] = repeat.occurrences;
  for (const RawCounter& counter : packet.counters) {
    const auto same = [&](const RawCounter& known) { return known.name == counter.name; };
    const auto known = std::find_if(life.counters.begin(), life.counters.end(), same);
    if (known == life.counters.end()) {
      life.counters.push_back(counter);
    } else {
      *known = counter;
    }
  }
  life.is_finished = life.is_finished || packet.is_final;
}

void LiveReport::count_occurrences() {
  for (LiveRace& race : races_) race.occurrences = 0;
  for (const Life& life : lives_) {
    for (const auto& [number, index] : life.races) {
      const auto total = life.occurrences.find(number);
      const std::uint64_t seen = total == life.occurrences.end() ? 1 : std::max<std::uint64_t>(total->second, 1);
      races_[index].occurrences += seen;
    }
    for (const auto& [number, seen] : life.occurrences) {
      if (life.races.contains(number)) continue;
      const Life* owner = life.parent;
      while (owner != nullptr && !owner->races.contains(number)) owner = owner->parent;
      if (owner != nullptr) races_[owner->races.at(number)].occurrences += seen;
    }
  }
  for (LiveRace& race : races_) race.live.finding.occurrences = race.occurrences;
}

const std::vector<LiveRace>& LiveReport::races() {
  count_occurrences();
  return races_;
}

std::uint64_t LiveReport::occurrences() {
  count_occurrences();
  return std::accumulate(races_.begin(), races_.end(), std::uint64_t{0}, [](std::uint64_t sum, const LiveRace& race) {
    return race.is_suppressed ? sum : sum + race.occurrences;
  });
}

std::vector<LiveCounter> LiveReport::counters() const {
  std::vector<LiveCounter> sums;
  for (const Life& life : lives_) {
    for (const RawCounter& counter : life.counters) {
      const auto same = [&](const LiveCounter& sum) { return sum.name == counter.name; };
      const auto sum = std::find_if(sums.begin(), sums.end(), same);
      if (sum == sums.end()) {
        sums.push_back({counter.name, counter.value, counter.is_loss});
      } else {
        sum->value += counter.value;
      }
    }
  }
  return sums;
}

std::optional<LiveSampling> LiveReport::sampling() const {
  LiveSampling sum;
  for (const Life& life : lives_) {
    if (life.sampling) sum.add(*life.sampling);
  }
  if (sum.processes == 0) return std::nullopt;
  sum.silent_processes = lives_.size() - sum.processes;
  return sum;
}

std::optional<LiveColdCalls> LiveReport::cold_calls() const {
  LiveColdCalls sum;
  for (const Life& life : lives_) {
    if (life.cold_calls) sum.add(*life.cold_calls);
  }
  if (sum.processes == 0) return std::nullopt;
  sum.silent_processes = lives_.size() - sum.processes;
  return sum;
}

bool LiveReport::is_complete() const {
  return std::all_of(lives_.begin(), lives_.end(), [](const Life& life) { return life.is_finished; });
}

}  // namespace deadheat
