// SPDX-License-Identifier: Apache-2.0
#include "report/finding_json.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "base/raw.h"
#include "report/describe.h"
#include "report/fingerprint.h"
#include "report/json_parts.h"
#include "report/json_text.h"

namespace deadheat {

using Json = nlohmann::ordered_json;

namespace {

std::string hexadecimal(std::uint64_t number) { return fmt::format("{:#x}", number); }

// Unknown is null, so that readers need not know our words for it.
Json known_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class Key>
Json name_or_null(const std::map<Key, std::string>& names, Key key) {
  const auto found = names.find(key);
  return found == names.end() ? Json(nullptr) : known_or_null(found->second);
}

}  // namespace

Json frame_of(const Site& site) {
  Json frame;
  frame["function"] = known_or_null(site.function);
  frame["file"] = known_or_null(site.file);
  frame["line"] = site.line == 0 ? Json(nullptr) : Json(site.line);
  frame["column"] = site.column == 0 ? Json(nullptr) : Json(site.column);
  frame["module"] = known_or_null(site.module);
  frame["offset"] = site.module.empty() ? Json(nullptr) : Json(hexadecimal(site.offset));
  frame["function_line"] = site.function_line == 0 ? Json(nullptr) : Json(site.function_line);
  frame["inlined"] = site.is_inlined;
  return frame;
}

namespace {

template <class Stack>
Json frames_of(const Stack& stack, const Dictionary& dictionary) {
  Json frames = Json::array();
  for (const SiteId site : stack) frames.push_back(frame_of(dictionary.sites[site]));
  return frames;
}

Json side_of(const RacingAccess& access, const Dictionary& dictionary) {
  Json side;
  side["thread"] = {{"id", raw(access.thread)}, {"name", name_or_null(dictionary.threads, access.thread)}};
  side["access"] = identifier_of(access.kind);
  side["size"] = access.size == 0 ? Json(nullptr) : Json(access.size);
  side["clock"] = access.clock;
  side["stack"] = frames_of(stack_of(access), dictionary);
  side["locks"] = Json::array();
  for (const HeldLock& held : access.locks) {
    side["locks"].push_back({{"id", hexadecimal(raw(held.lock))},
                             {"name", name_or_null(dictionary.syncs, held.lock)},
                             {"mode", identifier_of(held.mode)}});
  }
  if (includes(access.traits, AccessTraits::kSampled)) side["origin"] = "sampled";
  if (includes(access.traits, AccessTraits::kRebuilt)) side["origin"] = "rebuilt";
  if (includes(access.traits, AccessTraits::kCallersUnknown)) side["callers"] = "unknown";
  return side;
}

Json locking_of(const AccessContext& context, const Dictionary& dictionary) {
  Json out;
  out["since"] = context.since == AccessContext::Since::kAllocation ? "allocation" : "race";
  out["complete"] = context.since != AccessContext::Since::kRaceUntilFull;
  out["accesses"] = context.accesses;
  out["locks"] = Json::array();
  for (const AccessContext::Lock& lock : context.locks) {
    out["locks"].push_back({{"id", hexadecimal(raw(lock.lock))},
                            {"name", name_or_null(dictionary.syncs, lock.lock)},
                            {"accesses", lock.accesses}});
  }
  return out;
}

// The facts that traces and recordings know of a block.
Json memory_of(const RacedBlock& block, const Dictionary& dictionary) {
  return {{"kind", "heap"},
          {"begin", hexadecimal(block.begin)},
          {"size", block.size},
          {"name", nullptr},
          {"module", nullptr},
          {"thread", nullptr},
          {"allocated", frames_of(block.allocated, dictionary)},
          {"freed_by", nullptr},
          {"freed", Json::array()}};
}

}  // namespace

Json finding_of(const Finding& finding, const Dictionary& dictionary, const AccessContext* context) {
  Json out;
  out["fingerprint"] = fingerprint_of(finding, dictionary);
  out["aliases"] = {old_fingerprint_of(finding, dictionary)};
  out["kind"] = identifier_of(finding.kind);
  out["title"] = title_of(finding.kind);
  out["address"] = hexadecimal(finding.address);
  out["size"] = finding.size;
  out["variable"] = nullptr;
  if (const auto place = name_of(finding.address, dictionary)) {
    out["variable"] = {{"name", place->name}, {"offset", place->offset}, {"size", place->size}};
  }
  out["event_index"] = finding.event_index;
  out["occurrences"] = finding.occurrences;
  out["explanation"] = explain(finding, dictionary, context);
  const bool is_counted =
      context != nullptr && (context->accesses != 0 || context->since == AccessContext::Since::kAllocation);
  if (is_counted) out["locking"] = locking_of(*context, dictionary);
  out["earlier"] = side_of(finding.earlier, dictionary);
  out["later"] = side_of(finding.later, dictionary);
  if (finding.block.size != 0) out["memory"] = memory_of(finding.block, dictionary);
  return out;
}

namespace {

Json identifier_or_null(std::optional<ThreadId> thread) { return thread ? Json(raw(*thread)) : Json(nullptr); }

const char* identifier_of(MemoryClass kind) {
  switch (kind) {
    case MemoryClass::kGlobal:
      return "global";
    case MemoryClass::kHeap:
      return "heap";
    case MemoryClass::kFreedHeap:
      return "freed-heap";
    case MemoryClass::kStack:
      return "stack";
    case MemoryClass::kThreadLocal:
      return "thread-local";
    case MemoryClass::kMapped:
      return "mapped";
    case MemoryClass::kUnknown:
      break;
  }
  return "unknown";
}

Json memory_of(const LiveFinding& live) {
  const MemoryPlace& memory = live.memory;
  Json out;
  out["kind"] = identifier_of(memory.kind);
  out["begin"] = hexadecimal(memory.begin);
  out["size"] = memory.size;
  out["name"] = known_or_null(memory.name);
  if (!memory.member.empty()) out["member"] = memory.member;
  out["module"] = known_or_null(memory.module);
  out["thread"] = identifier_or_null(memory.thread);
  out["allocated"] = frames_of(memory.allocated, live.dictionary);
  out["freed_by"] = identifier_or_null(memory.freed_by);
  out["freed"] = frames_of(memory.freed, live.dictionary);
  return out;
}

Json thread_of(const LiveThread& thread, const Dictionary& dictionary) {
  Json out;
  out["id"] = raw(thread.id);
  out["name"] = name_or_null(dictionary.threads, thread.id);
  out["system_id"] = thread.system_id == 0 ? Json(nullptr) : Json(thread.system_id);
  out["parent"] = identifier_or_null(thread.parent);
  out["main"] = thread.is_main;
  out["finished"] = thread.is_finished;
  out["fiber"] = thread.is_fiber;
  out["created"] = frames_of(thread.created, dictionary);
  return out;
}

Json live_side_of(const RacingAccess& access, const std::vector<SiteStack>& acquired, const LiveFinding& live) {
  Json side = side_of(access, live.dictionary);
  side["volatile"] = includes(access.traits, AccessTraits::kVolatile);
  side["vptr"] = includes(access.traits, AccessTraits::kVptr);
  side["range"] = includes(access.traits, AccessTraits::kRange);
  side["locks_known"] = !includes(access.traits, AccessTraits::kLocksUnknown);
  for (std::size_t index = 0; index < access.locks.size(); ++index) {
    Json& lock = side["locks"][index];
    for (const LiveLock& known : live.locks) {
      if (known.id != access.locks[index].lock) continue;
      lock["address"] = hexadecimal(known.address);
      lock["created"] = frames_of(known.created, live.dictionary);
    }
    if (index < acquired.size()) lock["acquired"] = frames_of(acquired[index], live.dictionary);
  }
  return side;
}

}  // namespace

Json race_of(const LiveRace& race) {
  SourceFiles sources;
  return race_of(race, sources);
}

Json race_of(const LiveRace& race, SourceFiles& sources) {
  const LiveFinding& live = race.live;
  Json out = finding_of(live.finding, live.dictionary, live.context ? &*live.context : nullptr);
  out["event_index"] = nullptr;
  out["earlier"] = live_side_of(live.finding.earlier, live.earlier_acquired, live);
  out["later"] = live_side_of(live.finding.later, live.later_acquired, live);
  const Footprint& sweep = live.later_sweep;
  out["later"]["sweep"] = nullptr;
  if (sweep.count > 1) {
    out["later"]["sweep"] = {{"begin", hexadecimal(sweep.begin)}, {"step", sweep.step}, {"count", sweep.count}};
  }
  out["process"] = {{"id", live.process}, {"program", known_or_null(race.program)}};
  out["memory"] = memory_of(live);
  out["threads"] = Json::array();
  for (const LiveThread& thread : live.threads) out["threads"].push_back(thread_of(thread, live.dictionary));
  out["snippets"] = snippets_of(out, sources);
  return out;
}

namespace {

Json sampling_of(const LiveSampling& sampling) {
  const raw_report::Sampling& totals = sampling.totals;
  const double rate = expected_rate(totals);
  Json out;
  out["rate"] = share_of_million(totals.rate);
  out["budget"] = totals.budget == 0 ? Json(nullptr) : Json(share_of_million(totals.budget));
  out["period_us"] = totals.period_us;
  out["seed"] = std::to_string(totals.seed);
  out["periods"] = totals.periods;
  out["work_ns"] = totals.work_ns;
  out["sampled_work_ns"] = totals.sampled_work_ns;
  out["cost_ns"] = totals.cost_ns;
  out["sampled_accesses"] = totals.sampled_accesses;
  out["checked_accesses"] = totals.checked_accesses;
  out["horizon_us"] = totals.horizon_us == raw_report::kForever ? Json(nullptr) : Json(totals.horizon_us);
  out["expired_records"] = totals.expired_records;
  out["processes"] = sampling.processes;
  out["silent_processes"] = sampling.silent_processes;
  out["effective_rate"] = effective_rate(totals);
  out["expected_rate"] = rate;
  out["cost"] = cost_share(totals);
  out["guarantee"] = {{"found_per_run", rate},
                      {"confidence", kConfidence},
                      {"runs_to_exclude", value_or_null(runs_to_bound(rate))},
                      {"bound_after_one_run", value_or_null(occurrence_bound(rate, 1))}};
  return out;
}

Json cold_sampling_of(const LiveColdCalls& cold) {
  Json out;
  out["calls"] = cold.calls;
  out["sampled_calls"] = cold.sampled_calls;
  out["processes"] = cold.processes;
  out["silent_processes"] = cold.silent_processes;
  out["refusing_processes"] = cold.refusing_processes;
  out["note"] = kColdCodeNote;
  return out;
}

Json suppressions_of(const Suppressions& suppressions) {
  Json out = Json::array();
  for (const Suppression& suppression : suppressions.all()) {
    out.push_back({{"line", suppression.line}, {"races", suppression.matches}});
  }
  return out;
}

}  // namespace

std::string format_json_report(const Analysis& analysis) {
  Json document;
  document["version"] = kJsonReportVersion;
  document["tool"] = {{"name", "deadheat"}, {"version", analysis.tool_version}};
  document["trace"] = {{"path", analysis.trace_path},
                       {"events", analysis.event_count},
                       {"threads", analysis.thread_count},
                       {"complete", !analysis.incomplete.has_value()},
                       {"problem", analysis.incomplete ? Json(*analysis.incomplete) : Json(nullptr)}};
  document["detector"] = {{"name", analysis.detector_name},
                          {"strict_atomics", analysis.release_sequences == ReleaseSequences::kCpp20}};
  if (analysis.sampled) {
    document["detector"]["sampling"] = {{"sampled", analysis.sampled->sampled},
                                        {"accesses", analysis.sampled->all},
                                        {"effective_rate", effective_rate(*analysis.sampled)}};
  }
  document["summary"] = {{"races", analysis.findings.size()},
                         {"occurrences", total_occurrences(analysis.findings)},
                         {"suppressed", analysis.suppressed_count}};
  document["suppressions"] = suppressions_of(analysis.suppressions);
  document["counters"] = Json::object();
  for (const Counter& counter : analysis.counters) document["counters"][std::string(counter.name)] = counter.value;
  document["findings"] = Json::array();
  SourceFiles sources;
  for (std::size_t index = 0; index < analysis.findings.size(); ++index) {
    Json out = finding_of(analysis.findings[index], analysis.dictionary, context_of(analysis, index));
    out["snippets"] = snippets_of(out, sources);
    document["findings"].push_back(std::move(out));
  }
  return text_of_document(document);
}

std::string format_live_json_report(LiveReport& report, const LiveRunFacts& facts) {
  Json document;
  document["version"] = kJsonReportVersion;
  document["tool"] = {{"name", "deadheat"}, {"version", facts.tool_version}};
  document["run"] = {{"program", known_or_null(facts.program)},
                     {"exit_status", value_or_null(facts.exit_status)},
                     {"signal", value_or_null(facts.signal)},
                     {"processes", report.process_count()},
                     {"complete", report.is_complete() && !facts.problem},
                     {"problem", facts.problem ? Json(*facts.problem) : Json(nullptr)}};
  document["summary"] = {
      {"races", report.race_count()}, {"occurrences", report.occurrences()}, {"suppressed", report.suppressed_count()}};
  if (const auto sampling = report.sampling()) {
    document["sampling"] = sampling_of(*sampling);
  } else if (facts.sampling_requested) {
    document["sampling"] = nullptr;
  }
  if (const auto cold = report.cold_calls()) {
    document["cold_sampling"] = cold_sampling_of(*cold);
  } else if (facts.cold_sampling_requested) {
    document["cold_sampling"] = nullptr;
  }
  document["counters"] = Json::object();
  document["losses"] = Json::object();
  for (const LiveCounter& counter : report.counters()) {
    document[counter.is_loss ? "losses" : "counters"][counter.name] = counter.value;
  }
  document["suppressions"] = suppressions_of(report.suppressions());
  document["findings"] = Json::array();
  SourceFiles sources;
  for (const LiveRace& race : report.races()) {
    if (!race.is_suppressed) document["findings"].push_back(race_of(race, sources));
  }
  return text_of_document(document);
}

std::string format_sampling_json(std::uint32_t process, const raw_report::Sampling& sampling) {
  LiveSampling alone;
  alone.add(sampling);
  Json document;
  document["process"] = process;
  document["sampling"] = sampling_of(alone);
  return text_of_document(document);
}

}  // namespace deadheat
