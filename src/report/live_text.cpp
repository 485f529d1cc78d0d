// SPDX-License-Identifier: Apache-2.0
#include "report/live_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/describe.h"

namespace deadheat {

namespace {

std::string describe_owner(std::optional<ThreadId> thread, const Dictionary& dictionary) {
  return thread ? describe_thread(*thread, dictionary) : std::string("an unknown thread");
}

// Of a block that a loop goes through, as an array of what it accesses.
std::string describe_element(const LiveFinding& live) {
  const std::uint64_t size = live.finding.later.size;
  if (live.later_sweep.count < 2 || size == 0) return {};
  return fmt::format(" (element {})", grouped((live.finding.address - live.memory.begin) / size));
}

void add_sweep(std::string& out, const LiveFinding& live, ColourMode colour) {
  const Footprint& sweep = live.later_sweep;
  if (sweep.count < 2) return;
  add_line(out, "sweep",
           fmt::format("the later access is one of {} from there in a row, {} apart, from {:#x}", grouped(sweep.count),
                       counted(sweep.step, "byte"), sweep.begin),
           colour);
}

// "Counter::n of 'errors'", "table[3]", "errors + 4".
std::string describe_global(const LiveFinding& live) {
  const std::string& member = live.memory.member;
  if (member.empty()) return describe_address(live.finding.address, live.dictionary);
  if (member.starts_with('[')) return printable(live.memory.name + member);
  return fmt::format("{} of '{}'", printable(member), printable(live.memory.name));
}

// What stands after "race on".
std::string describe_live_bytes(const LiveFinding& live) {
  const Finding& finding = live.finding;
  const MemoryPlace& memory = live.memory;
  const std::string bytes = counted(finding.size, "byte");
  const std::string plain = fmt::format("{} at {:#x}", bytes, finding.address);
  const auto into = [&](std::string_view what) {
    if (memory.size == 0 || finding.address < memory.begin) return fmt::format("{} in a {}", plain, what);
    return fmt::format("{}, {}{} into a {} of {}", plain, counted(finding.address - memory.begin, "byte"),
                       describe_element(live), what, counted(memory.size, "byte"));
  };
  switch (memory.kind) {
    case MemoryClass::kGlobal:
      return fmt::format("{} ({})", describe_global(live), plain);
    case MemoryClass::kHeap:
      return into("heap block");
    case MemoryClass::kFreedHeap:
      return into("freed heap block");
    case MemoryClass::kStack:
      return fmt::format("{} on the stack of {}", plain, describe_owner(memory.thread, live.dictionary));
    case MemoryClass::kThreadLocal:
      return fmt::format("{} in the thread-local storage of {}", plain, describe_owner(memory.thread, live.dictionary));
    case MemoryClass::kMapped:
      return into("mapping");
    case MemoryClass::kUnknown:
      break;
  }
  if (!memory.module.empty()) return fmt::format("{} in {}", plain, printable(base_name(memory.module)));
  return plain;
}

void add_memory(std::string& out, const LiveFinding& live, ColourMode colour) {
  const MemoryPlace& memory = live.memory;
  const std::string words = describe_memory(live);
  if (words.empty()) return;
  add_line(out, "memory", words, colour);
  add_stack(out, memory.allocated, live.dictionary, colour);
  if (memory.kind == MemoryClass::kFreedHeap) {
    add_line(out, "freed", "by " + describe_owner(memory.freed_by, live.dictionary), colour);
    add_stack(out, memory.freed, live.dictionary, colour);
  }
}

void add_thread(std::string& out, const LiveThread& thread, const Dictionary& dictionary, ColourMode colour) {
  if (thread.is_main) return;
  std::string words = describe_thread(thread.id, dictionary);
  if (thread.is_fiber) words += ", a fiber";
  if (thread.is_finished) words += ", finished";
  words += thread.parent ? ", created by " + describe_thread(*thread.parent, dictionary)
                         : std::string(", whose creation was not seen");
  add_line(out, "thread", words, colour);
  add_stack(out, thread.created, dictionary, colour);
}

void add_locks(std::string& out, const LiveFinding& live, ColourMode colour) {
  for (const LiveLock& lock : live.locks) {
    if (lock.created.empty()) continue;
    const auto name = live.dictionary.syncs.find(lock.id);
    std::string words = fmt::format("lock {:#x}", lock.address);
    if (name != live.dictionary.syncs.end()) {
      words = printable(name->second);
      if (lock.address != 0) words += fmt::format(" ({:#x})", lock.address);
    }
    add_line(out, "lock", words + ", created or first used", colour);
    add_stack(out, lock.created, live.dictionary, colour);
  }
}

}  // namespace

std::string describe_memory(const LiveFinding& live) {
  const MemoryPlace& memory = live.memory;
  const auto block = [&](std::string_view what, std::string_view how) {
    std::string words = fmt::format("{} of {} at {:#x}", what, counted(memory.size, "byte"), memory.begin);
    if (memory.thread) words += fmt::format(", {} by {}", how, describe_thread(*memory.thread, live.dictionary));
    return words;
  };
  switch (memory.kind) {
    case MemoryClass::kGlobal:
      return fmt::format("global '{}' of {} at {:#x} in {}", printable(memory.name), counted(memory.size, "byte"),
                         memory.begin, printable(base_name(memory.module)));
    case MemoryClass::kHeap:
      return block("heap block", "allocated");
    case MemoryClass::kFreedHeap:
      return block("freed heap block", "allocated");
    case MemoryClass::kMapped:
      return block("mapping", "mapped");
    case MemoryClass::kStack:
      return "stack of " + describe_owner(memory.thread, live.dictionary);
    case MemoryClass::kThreadLocal:
      return "thread-local storage of " + describe_owner(memory.thread, live.dictionary);
    case MemoryClass::kUnknown:
      break;
  }
  return {};
}

std::string format_live_race(const LiveRace& race, std::uint64_t number, ColourMode colour) {
  const LiveFinding& live = race.live;
  const Finding& finding = live.finding;
  std::string out = fmt::format("{}. {} on {}\n", number, painted(title_of(finding.kind), Paint::kBad, colour),
                                describe_live_bytes(live));
  add_access(out, "later", finding.later, live.later_acquired, live.dictionary, colour);
  add_access(out, "earlier", finding.earlier, live.earlier_acquired, live.dictionary, colour);
  add_sweep(out, live, colour);
  add_memory(out, live, colour);
  for (const LiveThread& thread : live.threads) {
    if (thread.id == finding.later.thread || thread.id == finding.earlier.thread) {
      add_thread(out, thread, live.dictionary, colour);
    }
  }
  add_locks(out, live, colour);
  const AccessContext* context = live.context ? &*live.context : nullptr;
  add_line(out, "why",
           live.explanation.empty() ? explain(finding, live.dictionary, context) : printable(live.explanation), colour);
  const std::string program(base_name(race.program));
  add_line(out, "seen",
           fmt::format("{}in process {}{}; fingerprint {}",
                       race.occurrences > 1 ? counted(race.occurrences, "time") + ", first " : "", live.process,
                       program.empty() ? "" : fmt::format(" ({})", printable(program)), race.fingerprint),
           colour);
  return out;
}

std::string describe_totals(LiveReport& report, ColourMode colour) {
  std::string words;
  if (report.race_count() == 0) {
    words = painted("no data races", Paint::kGood, colour);
  } else {
    words = fmt::format("{} ({}{})", painted(counted(report.race_count(), "data race"), Paint::kBad, colour),
                        report.is_complete() ? "" : "at least ", counted(report.occurrences(), "occurrence"));
  }
  if (report.suppressed_count() != 0) words += fmt::format(", {} suppressed", grouped(report.suppressed_count()));
  return words;
}

std::vector<std::string> describe_losses(const LiveReport& report) {
  std::vector<std::string> lines;
  for (const LiveCounter& counter : report.counters()) {
    if (!counter.is_loss || counter.value == 0) continue;
    lines.push_back(fmt::format("lost: {} ({})", printable(counter.name), grouped(counter.value)));
  }
  return lines;
}

std::vector<std::string> describe_counts(LiveReport& report) {
  constexpr std::size_t kMost = 10;
  std::vector<std::string> lines;
  std::uint64_t number = 0;
  std::uint64_t more = 0;
  for (const LiveRace& race : report.races()) {
    if (race.is_suppressed) continue;
    ++number;
    const auto& context = race.live.context;
    if (!context || context->locks.empty() || context->locks.front().accesses * 2 < context->accesses) continue;
    const std::string words = describe_context(*context, race.live.finding, race.live.dictionary);
    if (words.empty()) continue;
    if (lines.size() < kMost) {
      lines.push_back(fmt::format("race {}: {}", number, words));
    } else {
      ++more;
    }
  }
  if (more != 0) lines.push_back(fmt::format("the same is known of {}", counted(more, "more race")));
  return lines;
}

std::string format_live_stats(const LiveReport& report) {
  std::vector<std::pair<std::string, std::uint64_t>> rows;
  for (const LiveCounter& counter : report.counters()) rows.emplace_back(printable(counter.name), counter.value);
  for (const Suppression& suppression : report.suppressions().all()) {
    rows.emplace_back("suppressed by " + printable(suppression.line), suppression.matches);
  }
  std::size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : rows) {
    fmt::format_to(std::back_inserter(out), "  {:<{}}  {:>16}\n", name, width, grouped(value));
  }
  return out;
}

}  // namespace deadheat
