// SPDX-License-Identifier: Apache-2.0
#include "report/live_deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "report/describe.h"
#include "report/fingerprint.h"

namespace deadheat {

namespace {

std::string name_of_lock(Address lock, const ModuleMap& modules, Symbolizer& symbolizer) {
  const auto place = modules.find(lock);
  if (!place) return {};
  const auto symbol = symbolizer.global(*place);
  if (!symbol) return {};
  const std::uint64_t offset = place->address - symbol->address;
  return offset == 0 ? symbol->name : fmt::format("{} + {}", symbol->name, offset);
}

// Up to main, like the stacks of races. Addresses are return addresses: the
// instruction is the one before.
SiteStack named_stack(std::span<const std::uint64_t> code, const ModuleMap& modules, Symbolizer& symbolizer,
                      SiteTable& sites) {
  SiteStack stack;
  for (const std::uint64_t address : code) {
    const auto place = address == 0 ? std::nullopt : modules.find(address - 1);
    if (!place) {
      stack.push_back(SiteId::kUnknown);
      continue;
    }
    for (const Site& site : symbolizer.frames(*place)) stack.push_back(sites.add(site));
    if (sites[stack.back()].function == "main") break;
  }
  return stack;
}

// How a thread came to wait. The innermost frames alone are those of std::mutex or of
// the C library, and the same in all deadlocks.
std::string way_of(const DeadlockedWaiter& waiter, const SiteTable& sites) {
  std::string way;
  for (const SiteId id : waiter.stack) {
    const Site& site = sites[id];
    way += (site.function.empty() ? describe_function(site) : printable(site.function)) + " " + describe_place(site) +
           "\n";
  }
  return way;
}

std::string describe_wanted(const DeadlockedWaiter& waiter) {
  if (waiter.lock_name.empty()) return fmt::format("lock {:#x}", waiter.lock);
  return fmt::format("{} ({:#x})", printable(waiter.lock_name), waiter.lock);
}

}  // namespace

LiveDeadlock make_live_deadlock(const schedule::RunFileHeader& header, const ModuleMap& modules,
                                Symbolizer& symbolizer) {
  LiveDeadlock deadlock;
  const std::uint32_t count = std::min(header.deadlocked, schedule::kDeadlockThreads);
  std::vector<std::string> ways;
  for (const schedule::DeadlockedThread& thread : std::span(header.cycle).first(count)) {
    DeadlockedWaiter waiter;
    waiter.thread = ThreadId{thread.number};
    waiter.lock = thread.wanted;
    waiter.lock_name = name_of_lock(thread.wanted, modules, symbolizer);
    const auto frames = std::span(thread.frames).first(std::min(thread.frame_count, schedule::kDeadlockFrames));
    waiter.stack = named_stack(frames, modules, symbolizer, deadlock.dictionary.sites);
    ways.push_back(way_of(waiter, deadlock.dictionary.sites));
    deadlock.cycle.push_back(std::move(waiter));
  }
  // Whichever thread comes first.
  std::sort(ways.begin(), ways.end());
  std::string identity = "deadlock";
  for (const std::string& way : ways) identity += "\n" + way;
  deadlock.fingerprint = fingerprint_of(identity);
  return deadlock;
}

std::string format_deadlock(const LiveDeadlock& deadlock, ColourMode colour) {
  std::string text;
  for (std::size_t index = 0; index < deadlock.cycle.size(); ++index) {
    const DeadlockedWaiter& waiter = deadlock.cycle[index];
    const DeadlockedWaiter& holder = deadlock.cycle[(index + 1) % deadlock.cycle.size()];
    add_line(text, index == 0 ? "cycle" : "",
             fmt::format("{} waits for {}, which {} holds", describe_thread(waiter.thread, deadlock.dictionary),
                         describe_wanted(waiter), describe_thread(holder.thread, deadlock.dictionary)),
             colour);
    add_stack(text, waiter.stack, deadlock.dictionary, colour);
  }
  return text;
}

}  // namespace deadheat
