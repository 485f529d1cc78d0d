// SPDX-License-Identifier: Apache-2.0
#include "report/live_finding.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace deadheat {

namespace {

// Turns the numbers of one packet into the model, sites and names as they come.
class FindingBuilder {
 public:
  FindingBuilder(const FindingPacket& packet, const ModuleMap& modules, Symbolizer& symbolizer)
      : packet_(packet), modules_(modules), symbolizer_(symbolizer) {}

  LiveFinding build(std::uint32_t process) {
    const raw_report::Finding& source = packet_.finding;
    live_.process = process;
    live_.id = source.id;
    for (const raw_report::Thread& thread : packet_.threads) add_thread(thread);
    live_.finding.earlier = side_of(source.earlier, live_.earlier_acquired);
    live_.finding.later = side_of(source.later, live_.later_acquired);
    live_.finding.kind = race_kind(live_.finding.earlier.kind, live_.finding.later.kind);
    live_.finding.address = source.address;
    live_.finding.size = source.size;
    live_.memory = memory_of(source);
    live_.later_sweep = {source.swept_begin, source.swept_step, source.swept_count,
                         static_cast<std::uint32_t>(live_.finding.later.size)};
    return std::move(live_);
  }

 private:
  std::span<const std::uint64_t> code_of(const raw_report::Stack& stack) const {
    return std::span(packet_.code).subspan(stack.first, stack.count);
  }

  ThreadId thread_at(std::uint32_t index) const { return ThreadId{packet_.threads[index].id}; }
  std::optional<ThreadId> thread_if_any(std::uint32_t index) const {
    if (index == raw_report::kNoThread) return std::nullopt;
    return thread_at(index);
  }

  // The frames of one return address. The instruction is the one before; any
  // address inside it will do.
  const SiteStack& sites_of(std::uint64_t code) {
    const auto known = sites_.find(code);
    if (known != sites_.end()) return known->second;
    SiteStack& sites = sites_[code];
    const auto place = code == 0 ? std::nullopt : modules_.find(code - 1);
    if (place) {
      for (const Site& site : symbolizer_.frames(*place)) sites.push_back(live_.dictionary.sites.add(site));
    } else {
      sites.push_back(SiteId::kUnknown);
    }
    return sites;
  }

  // Up to main: what calls it is the same in every program.
  SiteStack stack_of(const raw_report::Stack& stack) {
    SiteStack sites;
    for (const std::uint64_t code : code_of(stack)) {
      const SiteStack& frames = sites_of(code);
      sites.insert(sites.end(), frames.begin(), frames.end());
      if (live_.dictionary.sites[sites.back()].function == "main") break;
    }
    return sites;
  }

  void add_thread(const raw_report::Thread& source) {
    LiveThread thread;
    thread.id = ThreadId{source.id};
    thread.system_id = source.os_id;
    if (source.parent != 0) thread.parent = ThreadId{source.parent};
    thread.is_main = (source.flags & raw_report::kThreadMain) != 0;
    thread.is_finished = (source.flags & raw_report::kThreadFinished) != 0;
    thread.is_fiber = (source.flags & raw_report::kThreadFiber) != 0;
    thread.created = stack_of(source.created);
    std::string name = text_of(source.name);
    if (name.empty() && thread.is_main) name = "main";
    if (!name.empty()) live_.dictionary.threads[thread.id] = std::move(name);
    live_.threads.push_back(std::move(thread));
  }

  // Locks that lived at one address one after the other are different locks.
  // The first keeps the address as its identity; addresses of programs leave the
  // top byte free to tell the others apart. Of locks that are created by the
  // thousand (address 0) only the place is known: each is taken for another.
  SyncId identity_of(const raw_report::Lock& lock) {
    if (lock.address == 0) return SyncId{(std::uint64_t{1} << 55U) + ++one_of_many_};
    std::vector<std::uint64_t>& serials = serials_[lock.address];
    auto at = std::find(serials.begin(), serials.end(), lock.serial);
    if (at == serials.end()) at = serials.insert(serials.end(), lock.serial);
    return SyncId{lock.address + (static_cast<std::uint64_t>(at - serials.begin()) << 56U)};
  }

  void add_lock(SyncId id, const raw_report::Lock& source) {
    const auto same = [&](const LiveLock& lock) { return lock.id == id; };
    if (std::any_of(live_.locks.begin(), live_.locks.end(), same)) return;
    live_.locks.push_back({id, source.address, stack_of(source.created)});
    if (source.address == 0) {
      live_.dictionary.syncs[id] = "one of many locks";
      return;
    }
    if (const auto symbol = global_at(source.address)) {
      const std::uint64_t offset = source.address - symbol->second.address;
      std::string name = symbol->second.name;
      if (offset != 0) name += " + " + std::to_string(offset);
      live_.dictionary.syncs[id] = std::move(name);
    }
  }

  RacingAccess side_of(const raw_report::Side& source, std::vector<SiteStack>& acquired) {
    RacingAccess side;
    side.thread = thread_at(source.thread);
    side.clock = source.clock;
    side.kind = AccessKind{source.kind};
    side.size = source.size;
    side.traits = AccessTraits{source.flags};
    const SiteStack stack = stack_of(source.stack);
    if (!stack.empty()) {
      side.site = stack.front();
      side.stack.assign(stack.rbegin(), stack.rend() - 1);
    }
    for (const raw_report::Lock& lock : std::span(packet_.locks).subspan(source.locks.first, source.locks.count)) {
      const SyncId id = identity_of(lock);
      add_lock(id, lock);
      side.locks.push_back({id, static_cast<LockMode>(lock.mode)});
      acquired.push_back(stack_of(lock.acquired));
    }
    return side;
  }

  // The module's path and the symbol, with the symbol's address in memory.
  std::optional<std::pair<std::string, GlobalSymbol>> global_at(Address address) {
    const auto place = modules_.find(address);
    if (!place) return std::nullopt;
    auto symbol = symbolizer_.global(*place);
    if (!symbol) return std::nullopt;
    symbol->address += address - place->address;
    return std::pair(place->path, *std::move(symbol));
  }

  MemoryPlace memory_of(const raw_report::Finding& source) {
    const raw_report::Memory& memory = source.memory;
    MemoryPlace place;
    place.begin = memory.begin;
    place.size = memory.size;
    if (memory.kind == raw_report::MemoryKind::kUnknown) {
      if (const auto symbol = global_at(source.address)) {
        place = {.kind = MemoryClass::kGlobal,
                 .begin = symbol->second.address,
                 .size = symbol->second.size,
                 .name = symbol->second.name,
                 .module = symbol->first,
                 .thread = {},
                 .allocated = {},
                 .freed_by = {},
                 .freed = {}};
        live_.dictionary.ranges[place.begin] = {place.size, place.name};
      } else if (const auto module = modules_.find(source.address)) {
        place.module = module->path;
      }
      return place;
    }
    place.kind = class_of(memory.kind);
    place.thread = thread_if_any(memory.thread);
    place.allocated = stack_of(memory.allocated);
    if (memory.kind == raw_report::MemoryKind::kFreedHeap) place.freed_by = thread_if_any(memory.freed_by);
    place.freed = stack_of(memory.freed);
    return place;
  }

  static MemoryClass class_of(raw_report::MemoryKind kind) {
    switch (kind) {
      case raw_report::MemoryKind::kHeap:
        return MemoryClass::kHeap;
      case raw_report::MemoryKind::kFreedHeap:
        return MemoryClass::kFreedHeap;
      case raw_report::MemoryKind::kStack:
        return MemoryClass::kStack;
      case raw_report::MemoryKind::kTls:
        return MemoryClass::kThreadLocal;
      case raw_report::MemoryKind::kMapped:
        return MemoryClass::kMapped;
      case raw_report::MemoryKind::kUnknown:
        break;
    }
    return MemoryClass::kUnknown;
  }

  const FindingPacket& packet_;
  const ModuleMap& modules_;
  Symbolizer& symbolizer_;
  LiveFinding live_;
  std::map<std::uint64_t, SiteStack> sites_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> serials_;  // by lock address
  std::uint64_t one_of_many_ = 0;
};

}  // namespace

const LiveThread* LiveFinding::thread(ThreadId id_of_thread) const {
  const auto found =
      std::find_if(threads.begin(), threads.end(), [&](const LiveThread& thread) { return thread.id == id_of_thread; });
  return found == threads.end() ? nullptr : &*found;
}

LiveFinding make_live_finding(std::uint32_t process, const FindingPacket& packet, const ModuleMap& modules,
                              Symbolizer& symbolizer) {
  return FindingBuilder(packet, modules, symbolizer).build(process);
}

}  // namespace deadheat
