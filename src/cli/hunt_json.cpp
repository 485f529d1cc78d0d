// SPDX-License-Identifier: Apache-2.0
#include "cli/hunt_json.h"

#include <fmt/format.h>

#include "base/raw.h"
#include "cli/hunt_text.h"
#include "report/finding_json.h"
#include "report/json_parts.h"
#include "report/json_text.h"

namespace deadheat {

namespace {

using HuntJson = nlohmann::ordered_json;

void add_sightings(HuntJson& out, const Sightings& seen) {
  out["first_run"] = seen.first_run;
  out["runs_seen"] = seen.runs;
  out["strategies"] = HuntJson::array();
  for (const RunStrategy strategy : seen.strategies) out["strategies"].push_back(word_of(strategy));
}

HuntJson cycle_of(const LiveDeadlock& deadlock) {
  HuntJson cycle = HuntJson::array();
  for (const DeadlockedWaiter& waiter : deadlock.cycle) {
    HuntJson one;
    one["thread"] = raw(waiter.thread);
    one["waits_for"] = {{"address", fmt::format("{:#x}", waiter.lock)},
                        {"name", waiter.lock_name.empty() ? HuntJson(nullptr) : HuntJson(waiter.lock_name)}};
    one["stack"] = HuntJson::array();
    for (const SiteId site : waiter.stack) one["stack"].push_back(frame_of(deadlock.dictionary.sites[site]));
    cycle.push_back(std::move(one));
  }
  return cycle;
}

HuntJson finding_json_of(const HuntFinding& finding) {
  HuntJson out;
  out["fingerprint"] = finding.fingerprint;
  out["kind"] = finding.signal ? "crash" : "deadlock";
  out["title"] = describe_finding(finding);
  out["signal"] = finding.signal ? HuntJson(*finding.signal) : HuntJson(nullptr);
  out["cycle"] = cycle_of(finding.deadlock);
  out["last_output"] = finding.last_output;
  add_sightings(out, finding.seen);
  return out;
}

}  // namespace

std::string format_hunt_json(const HuntLedger& ledger, const HuntSetup& setup) {
  HuntJson document;
  document["version"] = kJsonReportVersion;
  document["tool"] = {{"name", "deadheat"}, {"version", DEADHEAT_VERSION}};
  document["hunt"] = {
      {"command", setup.command}, {"strategy", word_of(setup.strategy)}, {"seed", std::to_string(setup.seed)}};
  document["summary"] = {{"races", ledger.races().size()},
                         {"findings", ledger.findings().size()},
                         {"suppressed", ledger.suppressed_count()},
                         {"silent_runs", ledger.silent_runs()}};
  document["runs"] = HuntJson::array();
  for (const RunRecord& run : ledger.runs()) document["runs"].push_back(parse_json(format_run_json(run)));
  document["races"] = HuntJson::array();
  for (const HuntRace& race : ledger.races()) {
    HuntJson out = race_of(race.race);
    add_sightings(out, race.seen);
    document["races"].push_back(std::move(out));
  }
  document["findings"] = HuntJson::array();
  for (const HuntFinding& finding : ledger.findings()) document["findings"].push_back(finding_json_of(finding));
  document["statuses"] = HuntJson::array();
  for (const StatusObservation& status : ledger.statuses()) {
    document["statuses"].push_back(
        {{"status", status.status}, {"first_run", status.first_run}, {"runs_seen", status.runs}});
  }
  document["losses"] = HuntJson::object();
  for (const auto& [name, value] : ledger.losses()) document["losses"][name] = value;
  return text_of_document(document);
}

}  // namespace deadheat
